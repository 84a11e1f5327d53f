/** What `audit follow` writes for an entry: OCSF as its schema wants it, CEF as a strict parser reads it, JSON as it is. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { AUDIT_TYPES, type AuditEntry, type AuditType, type JsonObject } from '@countersign/contract'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cefLine } from '#server/cli/audit/follow/cef'
import { ENTRY_KINDS } from '#server/cli/audit/follow/entry-kinds'
import { ocsfEvent, ocsfLine } from '#server/cli/audit/follow/ocsf'
import { jsonLine } from '#server/cli/live/shown-text'

const read = (path: string) => readFileSync(fileURLToPath(new URL(path, import.meta.url)), 'utf8')
const schemas = JSON.parse(read('fixtures/ocsf-1.3.0.json'))
const ajv = new Ajv2020({ strict: false, allErrors: true })
const VALIDATORS = new Map([
  [6003, ajv.compile(schemas.api_activity)],
  [3001, ajv.compile(schemas.account_change)],
])

const LEAF = 'qL3vR0m4o4cS7Yw3b0VJmS2w4m0l7m9f8cJtXn5u1aE'
function entryOf(change: Partial<AuditEntry> = {}): AuditEntry {
  return {
    id: 'aud_01m7yrrt80edyry31m5vqjad5x',
    log: 'Rk3x_9-a',
    index: 41,
    at: '2026-11-21T10:00:00.123Z',
    type: 'decision.created',
    actor: 'key_01m7yrrt80edyry31m5vqjad5x',
    subject: 'dec_01m7yrrt80edyry31m5vqjad5x',
    agent_id: 'agent:support-7',
    data: { effect: 'allow', reason_code: 'rule_matched', action: 'payment.refund', version: 1 },
    leaf: LEAF,
    ...change,
  } as AuditEntry
}

/** Texts that somebody would forge a field or a line with. */
const HOSTILE = [
  '\n',
  '\r\n',
  '\\',
  '|',
  '=',
  ' act=allow',
  '\\=',
  '\\n',
  'CEF:0|',
  '\u2028',
  '\u202e',
  '\0',
  '\ud800',
  '"',
  '\u{e0041}',
  'ä€😀',
]
const hostileText = fc
  .array(fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ unit: 'binary' })), { maxLength: 12 })
  .map((parts) => parts.join(''))
const hostileEntry = fc
  .record({
    type: fc.constantFrom(...AUDIT_TYPES),
    actor: fc.option(hostileText),
    subject: hostileText,
    agent_id: fc.option(hostileText),
    data: fc.dictionary(
      fc.oneof(fc.constantFrom('effect', 'reason_code', 'action', 'name'), hostileText),
      fc.oneof(hostileText, fc.jsonValue()),
    ),
  })
  .map((change) => entryOf({ ...change, data: { ...change.data } as JsonObject }))

function faultsOf(event: { readonly class_uid: number }): unknown {
  const validate = VALIDATORS.get(event.class_uid)
  if (validate === undefined) throw new Error(`No class ${event.class_uid}.`)
  return validate(event) ? [] : validate.errors
}

const ACCOUNT_TYPES: readonly AuditType[] = [
  ...(['agent.created', 'agent.updated', 'agent.deleted', 'agent.suspended', 'agent.resumed'] as const),
  ...(['key.created', 'key.rotated', 'key.revoked'] as const),
]

describe('OCSF', () => {
  it.each(AUDIT_TYPES)('%s is an event of its class', (type) => {
    for (const change of [{}, { actor: null, agent_id: null, data: {} }]) {
      const event = JSON.parse(ocsfLine(entryOf({ type, ...change } as Partial<AuditEntry>)))
      expect(faultsOf(event)).toEqual([])
      expect(event.class_uid).toBe(ACCOUNT_TYPES.includes(type) ? 3001 : 6003)
      expect(event.category_uid).toBe(Math.floor(event.class_uid / 1000))
      expect(event.type_uid).toBe(event.class_uid * 100 + event.activity_id)
      expect(event.metadata).toMatchObject({ version: '1.3.0', uid: entryOf().id, event_code: type, sequence: 41 })
    }
  })

  it('a schema that lacks a required attribute, or has one that the schema does not know, is found', () => {
    const { actor, ...event } = ocsfEvent(entryOf())
    expect(faultsOf(event)).not.toEqual([])
    expect(faultsOf({ ...event, actor, agent: 'x' } as never)).not.toEqual([])
    expect(faultsOf({ ...event, actor, activity_id: 7 } as never)).not.toEqual([])
  })

  it('says who asked, what became of it and what the entry has besides', () => {
    expect(ocsfEvent(entryOf())).toMatchObject({
      time: Date.parse('2026-11-21T10:00:00.123Z'),
      activity_name: 'Create',
      type_uid: 600301,
      status: 'Success',
      status_code: 'rule_matched',
      severity: 'Informational',
      actor: { user: { uid: 'agent:support-7', type: 'Agent', credential_uid: 'key_01m7yrrt80edyry31m5vqjad5x' } },
      api: { operation: 'decision.created' },
      resources: [{ uid: 'dec_01m7yrrt80edyry31m5vqjad5x' }, { uid: 'agent:support-7' }, { name: 'payment.refund' }],
      unmapped: { agent_id: 'agent:support-7', data: entryOf().data, leaf: LEAF },
    })
    const outcomeOf = (effect: string) => {
      const { status, status_id, severity_id } = ocsfEvent(entryOf({ data: { effect } }))
      return [status, status_id, severity_id]
    }
    expect(outcomeOf('deny')).toEqual(['Failure', 2, 2])
    expect(outcomeOf('review')).toEqual(['Awaiting review', 99, 1])
    expect(ocsfEvent(entryOf({ type: 'agent.suspended', subject: 'agent:a' }))).toMatchObject({
      type_uid: 300105,
      user: { uid: 'agent:a', type: 'Agent' },
      actor: { user: { type: 'API key' } },
    })
    expect(ocsfEvent(entryOf({ type: 'decision.expired', actor: null })).actor).toEqual({ app_name: 'Countersign' })
  })

  it('has a type of a newer server, too, and members of Object.prototype are none', () => {
    for (const type of ['grant.created', 'constructor', '__proto__']) {
      const event = ocsfEvent(entryOf({ type: type as AuditType, data: {} }))
      expect(faultsOf(event)).toEqual([])
      expect(event).toMatchObject({ type_uid: 600399, metadata: { event_code: type } })
    }
  })

  it('whatever texts an entry has, the line is one valid event', () => {
    fc.assert(
      fc.property(hostileEntry, (entry) => {
        const line = ocsfLine(entry)
        expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
        const event = JSON.parse(line)
        expect(faultsOf(event)).toEqual([])
        expect(event.unmapped).toEqual(
          JSON.parse(JSON.stringify({ agent_id: entry.agent_id, data: entry.data, leaf: LEAF })),
        )
      }),
    )
  })
})

/** Reads CEF strictly: nothing but what the format allows. */
function parseCef(line: string) {
  expect(line).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u)
  const head =
    /^CEF:0\|((?:[^\\|]|\\[\\|])*)\|((?:[^\\|]|\\[\\|])*)\|((?:[^\\|]|\\[\\|])*)\|((?:[^\\|]|\\[\\|])*)\|((?:[^\\|]|\\[\\|])*)\|(10|[0-9])\|/.exec(
      line,
    )
  if (head === null) throw new Error(`Not a header: ${line}`)
  const header = head.slice(1).map((text) => text.replace(/\\(.)/g, '$1'))
  const FIELD = /([A-Za-z][A-Za-z0-9]*)=((?:[^\\=]|\\[\\=nr])*?)(?: (?=[A-Za-z][A-Za-z0-9]*=)|$)/uy
  FIELD.lastIndex = head[0].length
  const fields: [string, string][] = []
  while (FIELD.lastIndex < line.length) {
    const at = FIELD.lastIndex
    const [, key, value] = FIELD.exec(line) ?? []
    if (key === undefined || value === undefined) throw new Error(`Not a field: ${line.slice(at)}`)
    const plain = { n: '\n', r: '\r' } as Readonly<Record<string, string>>
    fields.push([key, value.replace(/\\(.)/gu, (_, one: string) => plain[one] ?? one)])
  }
  return { header, fields }
}

/** What a reader sees of a value: control characters as text. */
function shown(value: string): string {
  const cut = value.length > 4_000 ? `${value.slice(0, 3_999)}…` : value
  return cut.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (one) =>
    one === '\n' || one === '\r' ? one : `\\u{${one.codePointAt(0)?.toString(16)}}`,
  )
}

describe('CEF', () => {
  it('is the line that docs/siem.md shows', () => {
    const { header, fields } = parseCef(cefLine(entryOf()))
    expect(header).toEqual(['Countersign', 'Countersign', expect.any(String), 'decision.created', 'Decision made', '1'])
    expect(Object.fromEntries(fields)).toEqual({
      ...{ rt: '1795255200123', externalId: entryOf().id, outcome: 'Success', act: 'allow', reason: 'rule_matched' },
      ...{
        suid: entryOf().actor,
        suser: 'agent:support-7',
        cn1Label: 'index',
        cn1: '41',
        cs1Label: 'log',
        cs1: 'Rk3x_9-a',
      },
      ...{ cs2Label: 'subject', cs2: entryOf().subject, cs3Label: 'action', cs3: 'payment.refund', cs4Label: 'data' },
      cs4: JSON.stringify(entryOf().data),
    })
  })

  it.each(AUDIT_TYPES)('%s has its name and severity', (type) => {
    const { header } = parseCef(cefLine(entryOf({ type, data: {} })))
    const { title, severity } = ENTRY_KINDS[type]
    expect(header.slice(3)).toEqual([type, title, { informational: '1', low: '3', medium: '5', high: '8' }[severity]])
  })

  it('whatever texts an entry has, no value ends its line or begins a field', () => {
    fc.assert(
      fc.property(hostileEntry, (entry) => {
        const { header, fields } = parseCef(cefLine(entry))
        expect(header).toHaveLength(6)
        const keys = fields.map(([key]) => key)
        expect(new Set(keys).size).toBe(keys.length)
        const text = (member: string) =>
          typeof entry.data[member] === 'string' ? String(entry.data[member]) : undefined
        const wanted = { act: text('effect'), reason: text('reason_code'), suid: entry.actor, suser: entry.agent_id }
        const more = { cs2: entry.subject, cs3: text('action') ?? '', cs4: jsonLine(entry.data) }
        for (const [key, value] of Object.entries({ ...wanted, ...more })) {
          const found = fields.find(([name]) => name === key)?.[1]
          expect(found).toBe(value === null || value === undefined ? undefined : shown(value))
        }
      }),
    )
  })

  it('a longer value is cut, as the format wants it', () => {
    const { fields } = parseCef(cefLine(entryOf({ data: { comment: 'x'.repeat(5_000) } })))
    const [, data = ''] = fields.find(([key]) => key === 'cs4') ?? []
    expect(data).toHaveLength(4_000)
    expect(data).toMatch(/x…$/)
  })
})

it('JSON: whatever texts an entry has, it is the same entry on one line', () => {
  fc.assert(
    fc.property(hostileEntry, (entry) => {
      const line = jsonLine(entry)
      expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
      expect(JSON.parse(line)).toEqual(JSON.parse(JSON.stringify(entry)))
    }),
  )
})

it('docs/siem.md has the kind of every type', () => {
  const rows = [
    ...read('../../docs/siem.md').matchAll(/^\| `([a-z_.]+)` \| (\d{4}) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$/gm),
  ]
  const wanted = Object.entries(ENTRY_KINDS).map(([type, kind]) => {
    const [uid, activity] = 'account' in kind ? ['3001', kind.account] : ['6003', kind.api]
    return [type, uid, activity, kind.severity, kind.title]
  })
  expect(rows.map((row) => row.slice(1))).toEqual(wanted)
})
