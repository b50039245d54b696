"""The parameters of every method as strict models (api.md): unknown fields and wrong types are refused, never cut."""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from domain.refusal import Refused, refuse
from domain.task import TaskState
from host.rpc.errors import refusal_of_validation

PROTOCOL_VERSION = 1
LARGEST = 2**53 - 1
SLICE_BASE64 = 524_288
MAX_PAGE = 100
DEFAULT_PAGE = 50

Id = Annotated[str, Field(min_length=1, max_length=128)]
Sequence = Annotated[int, Field(ge=1, le=LARGEST)]
Limit = Annotated[int, Field(ge=1, le=MAX_PAGE)]
Cursor = Annotated[str, Field(min_length=1, max_length=1024)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Mode = Literal["standard", "read_only", "unconfined"]

P = TypeVar("P", bound=BaseModel)


class Params(BaseModel):
    """Base of all parameters."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class NoParams(Params):
    """A method without parameters."""


class Client(Params):
    """The program at the other end."""

    name: Name
    version: Name


class Initialize(Params):
    """`initialize`."""

    protocol_version: Annotated[int, Field(ge=PROTOCOL_VERSION, le=PROTOCOL_VERSION)]
    client: Client


class UserInput(Params):
    """What the person said, exactly (C7); its limits are checked where it is accepted (C8, T14)."""

    text: str
    attachment_ids: list[Id] = []
    mcp_server_ids: list[Id] = []
    engine: Name | None = None
    permission_mode: Mode | None = None


class PluginRequest(Params):
    """The envelope of `plugin/client/request`; `params` are the method's own."""

    plugin_id: Name
    method: Name
    params: dict[str, Any] = {}
    request_id: str | None = None
    fingerprint: Name | None = None
    graph_generation: Sequence | None = None
    user_input: UserInput | None = None


class Cancel(Params):
    """`plugin/client/cancel`: one of this connection's own pending calls."""

    rpc_id: str | int


class QuestionList(Params):
    """`user-question/list`."""

    state: Literal["open"] | None = None
    limit: Limit = DEFAULT_PAGE
    cursor: Cursor | None = None


class Answer(Params):
    """An answer to a question: one of its options, or words."""

    option_id: Id | None = None
    text: str | None = None


class QuestionRespond(Params):
    """`user-question/respond`."""

    question_id: Id
    revision: Sequence
    answer: Answer
    request_id: str


class QuestionCancel(Params):
    """`user-question/cancel`."""

    question_id: Id
    revision: Sequence
    request_id: str


class PushKeys(Params):
    """A browser's keys of Web Push, in base64url."""

    p256dh: str
    auth: str


class PushRegister(Params):
    """`device/push/register`: what `PushManager.subscribe` gave the browser."""

    endpoint: str
    keys: PushKeys


class PushUnregister(Params):
    """`device/push/unregister`."""

    subscription_id: Id


class Send(Params):
    """`agents.send`: the input itself is in the envelope."""

    session_id: Id
    draft_id: Id | None = None


class ReceiptQuery(Params):
    """`agents.receipt`."""

    request_id: str


class History(Params):
    """`agents.history`: without bounds the newest page."""

    session_id: Id
    before_seq: Sequence | None = None
    after_seq: Annotated[int, Field(ge=0, le=LARGEST)] | None = None
    limit: Limit = DEFAULT_PAGE


class StopTurn(Params):
    """`agents.stop_turn` (S8)."""

    session_id: Id
    turn_id: Id


class TaskResume(Params):
    """`agents.tasks.resume` (T11)."""

    task_id: Id
    instructions: str | None = None
    engine: Id | None = None
    permission_mode: Literal["standard", "read_only", "unconfined"] | None = None
    grant_ref: Id | None = None


class DeliveryOnly(Params):
    """Methods that name one delivery."""

    delivery_id: Id


class IntentOnly(Params):
    """Methods that name one stop intent."""

    intent_id: Id


class TaskCreate(Params):
    """`agents.tasks.create`: the instructions are the envelope's `user_input.text`."""

    title: str
    agent_id: Id | None = None
    engine: Name | None = None
    permission_mode: Mode | None = None
    attachment_ids: list[Id] = []
    grant_ref: Id | None = None


class TaskList(Params):
    """`agents.tasks.list`."""

    state: Annotated[TaskState, Field(strict=False)] | None = None
    agent_id: Id | None = None
    automation_id: Id | None = None
    limit: Limit = DEFAULT_PAGE
    cursor: Cursor | None = None


class TaskOnly(Params):
    """`agents.tasks.get`."""

    task_id: Id


class Slice(Params):
    """A piece of a file's base64 (C10); both count base64 characters."""

    offset: Annotated[int, Field(ge=0, le=LARGEST)]
    length: Annotated[int, Field(ge=1, le=SLICE_BASE64)]


class ArtifactRead(Slice):
    """`agents.tasks.artifact.read`."""

    task_id: Id
    artifact_id: Id


class AttachmentRead(Slice):
    """`host.session.attachment.read`."""

    session_id: Id
    message_seq: Sequence
    attachment_id: Id


def validated(model: type[P], raw: object) -> P:
    """Read parameters.

    Raises:
        Refused: `invalid_params`, with the field and, where one is broken, the limit and the value.
    """
    if not isinstance(raw, dict):
        raise refuse("invalid_params", "params must be an object.")
    if not _storable(raw):
        raise refuse("invalid_params", "A parameter holds a NUL character or half a surrogate pair.")
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        raise Refused(refusal_of_validation(error)) from None


def _storable(value: object) -> bool:
    """Whether every database can keep all strings in a parsed JSON value."""
    if isinstance(value, str):
        return "\x00" not in value and (value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value))
    if isinstance(value, dict):
        return all(_storable(key) and _storable(item) for key, item in value.items())
    return not isinstance(value, list) or all(map(_storable, value))
