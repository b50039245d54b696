// A schedule as a person fills it in, and as the host takes it (U2): the two are turned into each other here. What no
// preset can say stays a cron expression.

export const PRESETS = ["daily", "weekdays", "weekly", "monthly", "interval", "once", "cron"];
export const CLOCK_PRESETS = ["daily", "weekdays", "weekly", "monthly"];
export const UNITS = [["minutes", 60], ["hours", 3600], ["days", 86_400], ["seconds", 1]];
export const WEEKDAYS = [1, 2, 3, 4, 5, 6, 0];

const NAMES = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const FIRST_HOUR = "08:00";

export const ownZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

// Every zone that the browser knows, with UTC and the given one, which the browser may know by another name.
export function zones(besides) {
  return [...new Set([...Intl.supportedValuesOf("timeZone"), "UTC", ownZone(), besides].filter(Boolean))].sort();
}

export function emptyFields(now = new Date(), zone = ownZone()) {
  const tomorrow = wallTime(new Date(now.getTime() + 86_400_000), zone).slice(0, 10);
  return { preset: "daily", time: FIRST_HOUR, weekdays: [1], day: 1, amount: 15, unit: "minutes", offset: 0, at: `${tomorrow}T${FIRST_HOUR}`, expression: "0 8 * * *", zone };
}

// The fields that say an existing schedule.
export function fieldsOf(schedule, now = new Date()) {
  const zone = schedule.timezone ?? "UTC";
  // Of a zone that this browser does not know only the name is kept.
  const known = isKnown(zone) ? zone : "UTC";
  const fields = { ...emptyFields(now, known), zone: schedule.once ? known : zone };
  if (schedule.once) {
    const { at } = schedule.once;
    const isInstant = /(Z|[+-]\d\d:?\d\d)$/i.test(at);
    return { ...fields, preset: "once", at: shortTime(isInstant ? wallTime(new Date(at), fields.zone) : at) };
  }
  if (schedule.every) {
    const { seconds, offset_s: offset = 0 } = schedule.every;
    const [unit, size] = [...UNITS].sort((one, other) => other[1] - one[1]).find(([, length]) => seconds % length === 0);
    // An interval's zone decides nothing; a preset that is chosen instead of it means the person's own.
    return { ...fields, preset: "interval", amount: seconds / size, unit, offset, zone: zone === "UTC" ? ownZone() : zone };
  }
  return { ...fields, ...fieldsOfCron(schedule.cron.expression), expression: schedule.cron.expression };
}

// The schedule that the fields say, when none is missing; what is wrong in it is what the host refuses.
export function scheduleOf(fields) {
  const { preset, zone } = fields;
  if (preset === "interval") {
    const seconds = Math.round(Number(fields.amount) * UNITS.find(([name]) => name === fields.unit)[1]);
    return { every: { seconds, ...(fields.offset > 0 && fields.offset < seconds && { offset_s: fields.offset }) }, timezone: zone };
  }
  if (preset === "once") return { once: { at: fields.at }, timezone: zone };
  return { cron: { expression: preset === "cron" ? fields.expression : expressionOf(fields) }, timezone: zone };
}

// The first field that is needed and not filled in, or null.
export function missingField({ preset, time, weekdays, at }) {
  if (preset === "weekly" && weekdays.length === 0) return "weekdays";
  if (preset === "once") return at ? null : "at";
  return CLOCK_PRESETS.includes(preset) && !time ? "time" : null;
}

// Which field of the form a refusal is about, by the host's name of it.
export function fieldOfFault(name = "") {
  if (name.startsWith("schedule.timezone")) return "zone";
  if (name.startsWith("schedule.once")) return "at";
  if (name.startsWith("schedule.every")) return "amount";
  return name.startsWith("schedule.cron") ? "cron" : "schedule";
}

function expressionOf({ preset, time, weekdays, day }) {
  const [hour = "", minute = ""] = time.split(":");
  const at = `${Number(minute)} ${Number(hour)}`;
  if (preset === "weekdays") return `${at} * * 1-5`;
  if (preset === "monthly") return `${at} ${day} * *`;
  if (preset === "weekly") return `${at} * * ${[...weekdays].sort().join(",")}`;
  return `${at} * * *`;
}

function fieldsOfCron(expression) {
  const [minute, hour, day, month, weekday] = expression.toLowerCase().split(/\s+/);
  if (!/^\d{1,2}$/.test(minute) || !/^\d{1,2}$/.test(hour) || month !== "*") return { preset: "cron" };
  const time = `${hour.padStart(2, "0")}:${minute.padStart(2, "0")}`;
  if (day !== "*") return weekday === "*" && /^\d{1,2}$/.test(day) ? { preset: "monthly", time, day: Number(day) } : { preset: "cron" };
  if (weekday === "*") return { preset: "daily", time };
  if (["1-5", "mon-fri"].includes(weekday)) return { preset: "weekdays", time };
  const weekdays = weekday.split(",").map((name) => (/^[0-7]$/.test(name) ? Number(name) % 7 : NAMES.indexOf(name)));
  return weekdays.includes(-1) ? { preset: "cron" } : { preset: "weekly", time, weekdays };
}

function isKnown(zone) {
  try {
    return Boolean(new Intl.DateTimeFormat("en", { timeZone: zone }));
  } catch {
    return false;
  }
}

// An instant as wall time in a zone, as a date and time field takes it.
export function wallTime(instant, zone) {
  const parts = new Intl.DateTimeFormat("en-CA", { timeZone: zone, hourCycle: "h23", year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit" });
  const named = Object.fromEntries(parts.formatToParts(instant).map(({ type, value }) => [type, value]));
  return `${named.year}-${named.month}-${named.day}T${named.hour}:${named.minute}`;
}

// Without seconds where they are none, as the field shows it.
const shortTime = (at) => at.replace(/^(\d{4}-\d\d-\d\dT\d\d:\d\d):00$/, "$1");
