/** An entry as an event of the Open Cybersecurity Schema Framework. */
import type { AuditEntry } from '@countersign/client'
import { jsonLine } from '../../live/shown-text.js'
import { VERSION } from '../../version.js'
import { ACCOUNT_ACTIVITY, API_ACTIVITY, SEVERITY, seen, textIn } from './entry-kinds.js'

/** The version of the schema that the events follow. */
const OCSF_VERSION = '1.3.0'

const STATUS = { Success: 1, Failure: 2, 'Awaiting review': 99 } as const
/** Types of users that the schema does not name. */
const OTHER_USER = 99

export function ocsfLine(entry: AuditEntry): string {
  return jsonLine(ocsfEvent(entry))
}

export function ocsfEvent(entry: AuditEntry) {
  const { kind, severity, status } = seen(entry)
  const { id, log, index, at, type, agent_id, data, trace_id, leaf } = entry
  const common = {
    time: Date.parse(at),
    message: `${kind.title}: ${entry.subject}`,
    severity_id: SEVERITY[severity],
    severity: capitalized(severity),
    status_id: STATUS[status],
    status,
    ...present({ status_code: textIn(entry, 'reason_code') }),
    metadata: {
      version: OCSF_VERSION,
      product: { vendor_name: 'Countersign', name: 'Countersign', version: VERSION },
      uid: id,
      event_code: type,
      log_name: log,
      sequence: index,
      ...present({ correlation_uid: trace_id }),
    },
    actor: actorOf(entry),
    // The log has no network address: it names the server that wrote the entry.
    src_endpoint: { svc_name: 'Countersign', instance_uid: log },
    // Every member of the entry that no attribute has.
    unmapped: { agent_id, data, leaf },
  }
  if ('account' in kind) {
    const user = {
      uid: entry.subject,
      type_id: OTHER_USER,
      type: kind.holder,
      ...present({ name: textIn(entry, 'name') }),
    }
    return { ...classOf(3001, kind.account, ACCOUNT_ACTIVITY[kind.account]), ...common, user }
  }
  return {
    ...classOf(6003, kind.api, API_ACTIVITY[kind.api]),
    ...common,
    api: { operation: type, service: { name: 'Countersign' } },
    resources: resourcesOf(entry),
  }
}

const CLASSES = {
  3001: { class_name: 'Account Change', category_uid: 3, category_name: 'Identity & Access Management' },
  6003: { class_name: 'API Activity', category_uid: 6, category_name: 'Application Activity' },
} as const

function classOf(class_uid: keyof typeof CLASSES, activity_name: string, activity_id: number) {
  const names = CLASSES[class_uid]
  const type_name = `${names.class_name}: ${activity_name}`
  return { class_uid, ...names, activity_id, activity_name, type_uid: class_uid * 100 + activity_id, type_name }
}

/** The agent that asks for a decision, with the key that it used; else the key; else the server itself. */
function actorOf({ type, actor, agent_id }: AuditEntry) {
  if (type === 'decision.created' && agent_id !== null)
    return { user: { uid: agent_id, type_id: OTHER_USER, type: 'Agent', ...present({ credential_uid: actor }) } }
  if (actor !== null) return { user: { uid: actor, type_id: OTHER_USER, type: 'API key' } }
  return { app_name: 'Countersign' }
}

function resourcesOf(entry: AuditEntry) {
  const { subject, agent_id } = entry
  const action = textIn(entry, 'action')
  return [
    { uid: subject, type: 'Subject' },
    ...(agent_id === null ? [] : [{ uid: agent_id, type: 'Agent' }]),
    ...(action === undefined ? [] : [{ name: action, type: 'Action' }]),
  ]
}

function present(members: Readonly<Record<string, string | null | undefined>>): Readonly<Record<string, string>> {
  const given = Object.entries(members).filter((member): member is [string, string] => typeof member[1] === 'string')
  return Object.fromEntries(given)
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
