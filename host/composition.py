"""What this host is composed of, fixed for the life of its process (H7, H8).

A fingerprint covers a module's id and version, so that a client notices another composition before it calls it.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Final

from domain.refusal import refuse

PERSONAL: Final = "personal"
_MODULES: Final = {PERSONAL: {PERSONAL: "1", "session.domain": "1", "execution.authorization@1": "1"}}


@dataclass(frozen=True, slots=True)
class Module:
    """One selected module."""

    id: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Composition:
    """The profile and modules of this process; `generation` grows when they differ from the last start's (H7)."""

    profile: str | None
    modules: tuple[Module, ...]
    generation: int = 0

    @property
    def record(self) -> str:
        """A canonical text that differs exactly when the composition does."""
        return json.dumps([self.profile, [[module.id, module.fingerprint] for module in self.modules]])

    def provides(self, module_id: str) -> bool:
        """Whether a module is part of the composition."""
        return any(module.id == module_id for module in self.modules)

    def check(self, plugin_id: str, fingerprint: str | None, generation: int | None) -> None:
        """Insist on what a call was made for (H8).

        Raises:
            Refused: `service_not_available` for a plug-in that no profile provides; `composition_changed` for another
                fingerprint or generation.
        """
        module = next((module for module in self.modules if module.id == plugin_id), None)
        if module is None or plugin_id not in _MODULES:
            raise refuse("service_not_available", "No such plug-in here. `initialize` lists what this host provides.")
        if generation not in (None, self.generation) or fingerprint not in (None, module.fingerprint):
            raise refuse(
                "composition_changed",
                "This host's composition differs from the one the call names. Call initialize again.",
                graph_generation=self.generation,
            )

    def view(self) -> dict[str, Any]:
        """The composition as `initialize` returns it."""
        return {
            "profile": self.profile,
            "graph_generation": self.generation,
            "modules": [{"id": module.id, "fingerprint": module.fingerprint} for module in self.modules],
        }


def compose(profile: str | None, product_domain: str) -> Composition:
    """Select the modules of a profile; a binding alone, or another product domain, selects none (H1, H7)."""
    selected = _MODULES.get(profile or "", {}) if product_domain == PERSONAL else {}
    return Composition(profile, tuple(Module(name, _fingerprint(name, version)) for name, version in selected.items()))


def _fingerprint(module_id: str, version: str) -> str:
    return hashlib.sha256(f"{module_id}\n{version}".encode()).hexdigest()
