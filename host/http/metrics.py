"""`GET /metrics` in Prometheus' text format (O10): counts and ages from SQL and this process, no texts (I9)."""

from collections.abc import Iterable, Iterator, Mapping

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from domain.delivery import DeliveryState
from domain.effect import EffectState
from domain.task import TaskState
from domain.turn import TurnState
from host.http.sign_in import require
from host.locality import LOOPBACK_PEERS
from host.services import Services
from store.figures import Figures, figures

GROUP_STATES = ("open", "due", "sent", "dropped")
SEND_STATES = ("pending", "sent", "merged", "dropped", "gone", "failed")


class _Snapshot(Collector):
    """Hands out figures that were read before: the client library's collectors cannot wait for SQL."""

    def __init__(self, read: Figures, services: Services) -> None:
        self._read = read
        self._services = services

    def collect(self) -> Iterator[Metric]:
        """Every family of this host."""
        read, clients = self._read, self._services.broadcaster
        yield _states("steward_tasks", "Tasks by state.", TaskState, read.tasks)
        yield _states("steward_turns", "Turns by state.", TurnState, read.turns)
        yield _states("steward_deliveries", "Deliveries by state.", DeliveryState, read.deliveries)
        yield _states("steward_effects", "Effects by state; unknown ones need a person.", EffectState, read.effects)
        lag = "Age of the oldest delivery that is waiting or submitted."
        yield GaugeMetricFamily("steward_delivery_lag_seconds", lag, value=read.delivery_lag_s)
        depth = "Entries not relayed to Temporal yet."
        yield GaugeMetricFamily("steward_outbox_entries", depth, value=read.outbox_depth)
        oldest = "Age of the oldest entry not relayed yet."
        yield GaugeMetricFamily("steward_outbox_oldest_seconds", oldest, value=read.outbox_age_s)
        idle = "How long nothing was heard of the task at work that is silent longest."
        yield GaugeMetricFamily("steward_task_idle_seconds", idle, value=read.oldest_idle_task_s)
        stop = "Age of the oldest stop that is not done."
        yield GaugeMetricFamily("steward_stop_oldest_seconds", stop, value=read.oldest_stop_s)
        submitted = "How long the oldest submitted delivery waits for its turn's end."
        yield GaugeMetricFamily("steward_delivery_submitted_seconds", submitted, value=read.oldest_submitted_s)
        yield _states("steward_attention_groups", "Groups of news by state.", GROUP_STATES, read.attention)
        yield _states("steward_attention_sends", "Sends to channels by state.", SEND_STATES, read.attention_sends)
        beyond = "Groups announced at once because too many were open."
        yield GaugeMetricFamily("steward_attention_unaggregated", beyond, value=read.unaggregated)
        yield GaugeMetricFamily("steward_connections", "Open client connections.", value=clients.connections)
        slow = "Connections closed because the client did not read."
        yield CounterMetricFamily("steward_slow_client_disconnects", slow, value=clients.slow_disconnects)


def metrics_router(services: Services) -> APIRouter:
    """The metrics route: open on loopback, else for credentials."""
    router = APIRouter(include_in_schema=False)

    @router.get("/metrics")
    async def metrics(request: Request) -> Response:
        if request.client is None or request.client.host not in LOOPBACK_PEERS:
            await require(services, request)
        async with services.reading() as tx:
            read = await figures(tx)
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Snapshot(read, services))
        ProcessCollector(registry=registry)
        return Response(generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    return router


def _states(name: str, words: str, states: Iterable[str], counts: Mapping[str, int]) -> Metric:
    family = GaugeMetricFamily(name, words, labels=["state"])
    for state in states:
        family.add_metric([str(state)], counts.get(str(state), 0))
    return family
