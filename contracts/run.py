"""Runs on the wire: the agent loop shared by turns and attempts, as activities over stored steps (T4, C1)."""

from pydantic import BaseModel, ConfigDict
from temporalio import activity

from domain.run import Following
from domain.run import RunRef as RunRef


class Wire(BaseModel):
    """Base of everything that crosses to Temporal: frozen; new fields get defaults so that old histories decode."""

    model_config = ConfigDict(frozen=True)


class RunPoint(Wire):
    """A place in a run: a model step, or a call of it."""

    run: RunRef
    step: int = 0
    index: int = 0


class RunActivities:
    """What the agent loop does. Each answers with what follows, decided by `domain.run.what_follows`."""

    @activity.defn(name="run.position")
    async def position(self, run: RunRef) -> Following:
        """Read what follows in the run."""
        raise NotImplementedError

    @activity.defn(name="run.model_step")
    async def model_step(self, point: RunPoint) -> Following:
        """Ask the model once and answer the calls that follow and need only SQL; what is stored is reused (T10).

        The reply of a turn streams to the page (C4).
        """
        raise NotImplementedError

    @activity.defn(name="run.shared_call")
    async def shared_call(self, point: RunPoint) -> Following:
        """Carry out a tool call that only touches SQL."""
        raise NotImplementedError

    @activity.defn(name="run.files_call")
    async def files_call(self, point: RunPoint) -> Following:
        """Carry out a tool call that reads this machine's files, or copies artifacts."""
        raise NotImplementedError

    @activity.defn(name="run.propose_effect")
    async def propose_effect(self, point: RunPoint) -> Following:
        """Turn a call into an effect: its exact action, the resource policy, a card (E1-E3); or the call's refusal."""
        raise NotImplementedError
