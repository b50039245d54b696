// The permission of an automation, in the shape that the card of a task's permission reads (U6, A15). Only what was
// given for what the automation does now counts: a grant of an earlier binding is void.

export function automationAuthority({ grants, automations, book }) {
  // What each automation did when its permission was asked for.
  const askedFor = new Map();
  const binding = (id) => automations.automation(id)?.binding_revision;
  const held = (id) => grants.ofAutomation(id).filter(({ holder }) => holder.binding_revision === undefined || holder.binding_revision === binding(id));
  return {
    book,
    grants: {
      lifetimes: grants.lifetimes,
      putOff: grants.putOff,
      followed: new Map(),
      get loaded() {
        return grants.loaded;
      },
      onChange: (listener) => grants.onChange(listener),
      putAway: (request, away) => grants.putAway(request, away),
      issue: (request, lifetime) => grants.issue(request, lifetime),
      requestOf: (id) => (askedFor.get(id) === binding(id) ? grants.requestOfAutomation(id) : undefined),
      ofTask: held,
      activeOf: (id) => held(id).find((grant) => grant.state === "active"),
      propose: async (id) => {
        askedFor.set(id, binding(id));
        await grants.proposeForAutomation(id);
      },
    },
    tasks: {
      onChange: (listener) => automations.onChange(listener),
      task: (id) => automations.automation(id),
      mayBeAllowed(id) {
        const automation = automations.automation(id);
        return Boolean(automation) && automation.state !== "done" && automation.permission_mode !== "read_only";
      },
    },
  };
}
