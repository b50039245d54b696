"""Where this instance keeps the secrets of notifications (P15)."""

from adapters.credential_store import CredentialStore, system_keyring
from adapters.notification_secrets import NotificationSecrets
from runtime.settings import Settings


def notification_secrets(settings: Settings) -> NotificationSecrets:
    """The secrets in the state folder's credential store, or in the system's keyring where there is one."""
    return NotificationSecrets(lambda: CredentialStore(settings.state_dir, system_keyring()))
