// Builds the page's parts once and routes what the host tells to them. Unknown topics are ignored: newer hosts may
// send more than this page knows.

import { AgentProfiles } from "./agent_profiles.js";
import { ApprovalBook } from "./approvals.js";
import { auditSection } from "./audit_section.js";
import { AutomationPages } from "./automation_pages.js";
import { AutomationBook } from "./automations.js";
import { BrowserPush } from "./browser_push.js";
import { startTicking } from "./clock.js";
import { Composer } from "./composer.js";
import { Conversation } from "./conversation.js";
import { Detail } from "./detail.js";
import { EffectBook } from "./effect_book.js";
import { StoredFiles } from "./files.js";
import { GrantBook } from "./grants.js";
import { onLanguage, t, translate } from "./i18n.js";
import { fillIcons } from "./icons.js";
import { Layout } from "./layout.js";
import { News } from "./news.js";
import { notificationsSection } from "./notifications_section.js";
import { Outbox } from "./outbox.js";
import { PersonSettings } from "./person_settings.js";
import { QuestionBook } from "./questions.js";
import { Connection } from "./rpc.js";
import { RuleBook } from "./rules.js";
import { Settings } from "./settings.js";
import { effectsSection, grantsSection, rulesSection } from "./settings_lists.js";
import { TaskBook } from "./task_book.js";
import { Turns } from "./turns.js";
import { Work } from "./work.js";

const byId = (id) => document.getElementById(id);
const { space, domain, version } = document.documentElement.dataset;

fillIcons(document.body);
translate(document.body);
startTicking();

const connection = new Connection({
  url: `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/rpc`,
  client: { name: "steward-page", version },
  expected: { user_space: space, product_domain: domain },
});

const stored = new StoredFiles(connection);
const rules = new RuleBook(connection);
const book = new ApprovalBook(connection, rules);
const grants = new GrantBook(connection);
const tasks = new TaskBook(connection);
const effects = new EffectBook(connection);
const person = new PersonSettings(connection);
const automations = new AutomationBook(connection);
const profiles = new AgentProfiles(connection);
const push = new BrowserPush({ connection, person });
const questions = new QuestionBook(connection);
const outbox = new Outbox(connection);
const turns = new Turns(connection);
const composer = new Composer({ connection, outbox });
const conversation = new Conversation({ connection, book, questions, grants, tasks, effects, automations, stored, outbox, turns, composer });
const { places } = conversation;
const work = new Work({
  connection,
  book,
  questions,
  grants,
  tasks,
  automations,
  stored,
  inConversation: {
    question: conversation.carries,
    task: places.hasHome,
    card: places.follows,
    proposal: (proposal) => !conversation.thread.loaded || places.proposedIn(proposal) !== undefined,
  },
});
places.onChange(() => work.conversationChanged());
const settings = new Settings({
  person,
  sections: {
    notifications: notificationsSection({ connection, person, profiles, push }),
    grants: grantsSection({ connection, grants, book, tasks }),
    rules: rulesSection({ connection, rules }),
    effects: effectsSection({ connection }),
    audit: auditSection({ connection }),
  },
});
const detail = new Detail({
  connection,
  book,
  questions,
  grants,
  tasks,
  stored,
  pages: new AutomationPages({ connection, automations, profiles, grants, book }),
  onClose: () => layout.closeDetail(),
  showMessage: (seq) => {
    layout.showConversation();
    conversation.show(seq);
  },
});
const layout = new Layout({
  onPlace: (place) => {
    settings.show(place.view === "settings" ? place.section : null);
    detail.open(place.detail);
  },
  onMessage: (seq) => {
    layout.showConversation();
    conversation.show(seq);
  },
});
const news = new News({
  seen: conversation.seen,
  book,
  inView: (seq) => conversation.inView(seq),
  settled: ({ kind, card_id: card }) => kind === "card" && book.loaded && !book.pending.some((pending) => pending.approval_id === card),
});
automations.onChange(() => detail.automationsChanged());
// A notification that was clicked leads the page that is open to its place.
navigator.serviceWorker?.addEventListener("message", ({ data }) => data?.place && (location.hash = data.place));

// A failed read is not an error here: the next notice or reconnect reads again.
const refreshCards = () => book.refresh().catch(() => null).then(() => detail.refresh());
const refreshGrants = () => grants.refresh().catch(() => null);
const refreshQuestions = () => questions.refresh().catch(() => null).then(() => detail.refresh());

function workChanged() {
  work.refreshSoon();
  detail.refreshSoon();
  settings.refreshSoon();
  if (effects.hasOpen) effects.refreshSoon();
}

const topics = {
  conversation: ({ last_seq: lastSeq }) => lastSeq > conversation.thread.lastSeq && conversation.catchUp(),
  activity: workChanged,
  tasks: workChanged,
  approvals: () => {
    refreshCards();
    effects.refreshSoon();
    settings.refreshSoon();
  },
  questions: refreshQuestions,
  grants: refreshGrants,
  settings: () => person.refresh(),
  automations: () => automations.refreshSoon(),
  notification: (event) => news.take(event, event.locator.kind === "message" ? conversation.catchUp() : refreshCards()),
};

connection.on("event", (event) => {
  if (!turns.take(event)) topics[event.topic]?.(event);
});

connection.on("open", () => {
  turns.doubt();
  conversation.reconnected();
  refreshCards();
  refreshQuestions();
  refreshGrants();
  effects.refreshSoon();
  person.refresh();
  automations.refresh();
  push.look();
  settings.refreshSoon();
  work.refresh();
});

function showLink(state, details = {}) {
  const link = byId("link-state");
  const word = ["online", "connecting"].includes(state) ? state : "offline";
  link.textContent = t(`link.${word}`);
  link.dataset.state = word;
  const banner = byId("banner");
  banner.hidden = word !== "offline";
  banner.textContent = banner.hidden ? "" : t(`banner.${state}`, details);
  conversation.linkChanged();
}

connection.on("state", showLink);
onLanguage(() => showLink(connection.state));
onLanguage(() => person.keepLanguage());
showLink("connecting");
layout.start();
connection.start();
