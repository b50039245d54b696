"""`agents.seen`, and `device/push/register|unregister` outside of the plug-in (N2, N9, H20)."""

from collections.abc import Mapping

from adapters.web_push_subscription import PushSubscription, check_subscription
from host.call import Call, ForegroundPermission
from host.methods.method import Method, Result
from host.principal import Principal
from host.rpc import params
from host.rpc.params import Id, Params, Sequence
from host.services import Services
from store import push_subscriptions, seen


class Seen(Params):
    """`agents.seen`: the newest message that was visible in a focused window."""

    session_id: Id
    up_to_seq: Sequence


async def note_seen(services: Services, call: Call[Seen]) -> Result:
    """Record what was seen. It only ever goes forward, so it needs no request id, and repeating it changes nothing."""
    async with services.admission(call) as tx:
        return {"up_to_seq": await seen.note(tx, call.params.session_id, call.params.up_to_seq)}


async def register(
    services: Services, wanted: params.PushRegister, principal: Principal, permission: ForegroundPermission
) -> Result:
    """Register the calling browser for pushes; the same endpoint again is the same subscription."""
    keys = wanted.keys
    subscription = PushSubscription(wanted.endpoint, keys.p256dh, keys.auth)
    check_subscription(subscription, services.settings.allow_insecure_push)
    async with services.database.write(services.scope) as tx:
        permission.check()
        row = await push_subscriptions.register(tx, wanted.endpoint, keys.p256dh, keys.auth, principal.id)
        answer = {"subscription_id": row.subscription_id}
        permission.seal()
    return answer


async def unregister(
    services: Services, wanted: params.PushUnregister, principal: Principal, permission: ForegroundPermission
) -> Result:
    """End a subscription."""
    async with services.database.write(services.scope) as tx:
        permission.check()
        await push_subscriptions.unregister(
            tx, wanted.subscription_id, principal.id, is_owner=principal.kind == "owner"
        )
        permission.seal()
    return {}


METHODS: Mapping[str, Method] = {"agents.seen": Method(note_seen, Seen)}
