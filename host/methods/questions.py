"""`user-question/list|respond|cancel` (T9): the host's own methods, outside of the plug-in."""

from host.call import ForegroundPermission
from host.methods.method import Result
from host.rpc import params
from host.services import Services
from store import control_views, questions, views
from store.questions import Settlement


async def list_questions(services: Services, wanted: params.QuestionList) -> Result:
    """A page of questions, newest first; by default of every state."""
    async with services.reading() as tx:
        return await control_views.question_page(tx, wanted.state, wanted.limit, wanted.cursor)


async def settle(services: Services, wanted: Settlement, principal: str, permission: ForegroundPermission) -> Result:
    """Answer or cancel a question, once (T9)."""
    async with services.database.write(services.scope) as tx:
        permission.check()
        receipt, _question = await questions.settle(tx, wanted, principal)
        answer = {"receipt": views.receipt_view(receipt)}
        permission.seal()
    services.pulse.ring()
    return answer
