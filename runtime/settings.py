"""What an instance is set to: one frozen value, checked completely before anything starts (O21, H5).

Every field is a `STEWARD_*` variable and a key of the settings file by the same name. Constructing `Settings` reads
nothing from outside; reading the environment and the file is `settings_sources`' part.
"""

import re
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from adapters.oidc_address import checked_issuer

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
DEFAULT_HOME = "~/.local/share/steward"
DATABASE_DRIVERS = {
    "postgres": "postgresql+asyncpg",
    "postgresql": "postgresql+asyncpg",
    "postgresql+asyncpg": "postgresql+asyncpg",
    "sqlite": "sqlite+aiosqlite",
    "sqlite+aiosqlite": "sqlite+aiosqlite",
}
LOOPBACK = "127.0.0.1"


def _valid_name(value: str) -> str:
    if not NAME.fullmatch(value):
        raise ValueError("must be 1 to 64 characters of a-z, 0-9, _ and -, and begin with a letter or digit (H4)")
    return value


def _absolute(value: Path) -> Path:
    path = value.expanduser()
    if not path.is_absolute() or ".." in path.parts:
        raise ValueError("must be an absolute path without '..'")
    return path


def _split_list(value: object) -> object:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def _host_and_port(value: str) -> str:
    host, separator, port = value.rpartition(":")
    if not separator or not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError("must be HOST:PORT")
    return value


def _http_address(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("must be an http:// or https:// address")
    return value


def _model_name(value: str) -> str:
    if value != "offline" and not re.fullmatch(r"[a-z0-9-]+:\S+", value):
        raise ValueError("must be 'offline' or PROVIDER:NAME, for example openai-chat:gpt-x")
    return value


Name = Annotated[str, AfterValidator(_valid_name)]
AbsolutePath = Annotated[Path, AfterValidator(_absolute)]
Port = Annotated[int, Field(ge=1, le=65535)]
Model = Annotated[str, AfterValidator(_model_name)]
Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split_list)]
Seconds = Annotated[float, Field(gt=0, le=31_536_000, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]


class Settings(BaseSettings):
    """All settings of one instance (O21). Times are seconds unless the name says days."""

    model_config = SettingsConfigDict(env_prefix="STEWARD_", frozen=True, extra="forbid", env_ignore_empty=True)

    config: AbsolutePath | None = None
    home: AbsolutePath = Field(default=Path(DEFAULT_HOME), validate_default=True)
    user_space: Name = "local"
    product_domain: Name = "personal"
    host: str = Field(default=LOOPBACK, min_length=1, max_length=253)
    port: Port = 18000
    allowed_hosts: Names = ()
    allow_insecure_push: bool = False
    log_format: Literal["console", "json"] = "console"
    composition_profile: Literal["personal"] | None = None
    isolation_mode: Literal["logical_memory", "verified_host"] = "logical_memory"

    temporal_address: Annotated[str, AfterValidator(_host_and_port)] | None = None
    temporal_port: Port = 7233
    temporal_ui_port: Port = 8233
    temporal_namespace: str = Field(default="default", min_length=1, max_length=255)
    temporal_retention_days: int = Field(default=90, ge=1, le=3650)
    database_url: SecretStr | None = None

    model: Model = "offline"
    task_model: Model | None = None
    model_base_url: Annotated[str, AfterValidator(_http_address)] | None = None
    model_api_key: SecretStr | None = None
    model_timeout_s: Seconds = 120
    context_tokens: int = Field(default=24_000, ge=2_000, le=2_000_000)

    authorization_provider: Name = "local"
    oidc_issuer: Annotated[str, AfterValidator(checked_issuer)] | None = None
    oidc_client_id: str | None = Field(default=None, min_length=1, max_length=255)
    oidc_client_secret: SecretStr | None = None
    oidc_tenant_claim: str = Field(default="tid", min_length=1, max_length=255)

    delivery_model_wait_s: Seconds = 120
    card_park_s: Seconds = 60
    card_expiry_s: Seconds = 1800
    automation_failures: Count = 3
    max_open_tasks: Count = 64
    max_model_steps: Count = 50
    max_effects: Count = 100
    max_wall_s: Seconds = 86_400
    command_network: bool = False

    @field_validator("database_url")
    @classmethod
    def _known_database(cls, value: SecretStr | None) -> SecretStr | None:
        if value is None:
            return None
        scheme, separator, rest = value.get_secret_value().partition("://")
        if not separator or scheme not in DATABASE_DRIVERS:
            raise ValueError("must begin with postgresql:// or sqlite:///")
        driver = DATABASE_DRIVERS[scheme]
        if driver.startswith("sqlite") and not rest.startswith("//"):
            raise ValueError("must name an absolute path: sqlite:////folder/file.sqlite")
        return SecretStr(f"{driver}://{rest}")

    @model_validator(mode="after")
    def _ports_differ(self) -> Self:
        own = [self.port] if self.temporal_address else [self.port, self.temporal_port, self.temporal_ui_port]
        if len(set(own)) != len(own):
            raise ValueError("STEWARD_PORT, STEWARD_TEMPORAL_PORT and STEWARD_TEMPORAL_UI_PORT must differ")
        return self

    @model_validator(mode="after")
    def _issuer_is_named(self) -> Self:
        # Any other name is a provider that is not there: that refuses effects, not the start (A6).
        if self.authorization_provider == "oidc" and not (self.oidc_issuer and self.oidc_client_id):
            raise ValueError(
                "STEWARD_OIDC_ISSUER and STEWARD_OIDC_CLIENT_ID must be set with STEWARD_AUTHORIZATION_PROVIDER=oidc"
            )
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take values from the constructor alone: a `Settings` in a test or an embedding depends on nothing else."""
        return (init_settings,)

    @property
    def space_dir(self) -> Path:
        """The folder of this user space and product domain (H4)."""
        return self.home / "user-spaces" / self.user_space / self.product_domain

    @property
    def state_dir(self) -> Path:
        """Private state: database, credentials, managed attachments (H4)."""
        return self.space_dir / "state"

    @property
    def files_dir(self) -> Path:
        """The working files that effects may touch (H4, E3)."""
        return self.space_dir / "files"

    @property
    def run_dir(self) -> Path:
        """Pid files and the supervisor's lock (O22)."""
        return self.home / "run"

    @property
    def embedded_temporal(self) -> bool:
        """Whether `steward up` brings its own Temporal server (O14)."""
        return self.temporal_address is None

    @property
    def effective_temporal_address(self) -> str:
        """HOST:PORT of the Temporal server to connect to."""
        return self.temporal_address or f"{LOOPBACK}:{self.temporal_port}"

    @property
    def temporal_database(self) -> Path:
        """The embedded server's database file."""
        return self.state_dir / "temporal.sqlite"

    @property
    def effective_database_url(self) -> str:
        """SQLAlchemy address of the control plane; it may hold a password, so it is never logged or shown."""
        if self.database_url is not None:
            return self.database_url.get_secret_value()
        return f"sqlite+aiosqlite:///{self.state_dir / 'steward.sqlite'}"

    @property
    def effective_task_model(self) -> str:
        """The model of hidden tasks: their own, or the main agent's (O3)."""
        return self.task_model or self.model
