/**
 * Sends a group of mutations to the writing thread as one text. Its first line is what the thread parses, including the
 * columns of each row. Each further line is a document, serialized once and stored unchanged; JSON text contains no
 * line break.
 */
import type { Posting } from '../../ports/store/documents.js'
import type { Change, Mutation } from '../../ports/store/store.js'
import { type AuditEntryColumns, auditEntryColumns } from './tables/audit-entries.js'
import { type DecisionColumns, type DecisionUpdate, decisionColumns, decisionUpdate } from './tables/decisions.js'
import { type IdempotencyColumns, idempotencyColumns } from './tables/idempotency.js'

type DecisionChange = Extract<Change, { readonly kind: 'decision.create' | 'decision.update' }>

/** Rare changes are included completely. */
type ChangeHead =
  | { readonly kind: 'decision.create'; readonly columns: DecisionColumns; readonly postings: readonly Posting[] }
  | {
      readonly kind: 'decision.update'
      readonly columns: DecisionUpdate
      readonly postings: readonly Posting[]
      readonly erasesRequest: boolean
    }
  | Exclude<Change, DecisionChange>

/** A mutation as the thread writes it: the columns of its rows, and each document as the text to store. */
export interface WritableMutation {
  readonly change: ChangeHead
  readonly entry: AuditEntryColumns | null
  readonly idempotency: IdempotencyColumns | null
  /** The text of the audit entry; empty when there is none. */
  readonly entryText: string
  /** The text of the decision; empty when another object changes. */
  readonly decisionText: string
  /** The context of a new decision's request; empty when there is none. */
  readonly contextText: string
}

type Head = Pick<WritableMutation, 'change' | 'entry' | 'idempotency'>

export function groupText(mutations: readonly Mutation[]): string {
  const heads: Head[] = []
  let documents = ''
  for (const { change, entry, idempotency } of mutations) {
    heads.push({
      change: headOf(change),
      entry: entry === null ? null : auditEntryColumns(entry),
      idempotency: idempotency === null ? null : idempotencyColumns(idempotency),
    })
    documents += `\n${entry === null ? '' : JSON.stringify(entry)}\n${decisionText(change)}\n${contextText(change)}`
  }
  return JSON.stringify(heads) + documents
}

/** Parses the text of {@link groupText}. */
export function mutationsOf(text: string): readonly WritableMutation[] {
  const lines = text.split('\n')
  const heads = JSON.parse(lines[0] as string) as readonly Head[]
  return heads.map(({ change, entry, idempotency }, i) => {
    const [entryText, decisionText, contextText] = lines.slice(3 * i + 1, 3 * i + 4) as [string, string, string]
    return { change, entry, idempotency, entryText, decisionText, contextText }
  })
}

function headOf(change: Change): ChangeHead {
  switch (change.kind) {
    case 'decision.create':
      return {
        kind: change.kind,
        columns: decisionColumns(change.decision, change.request),
        postings: change.decision.postings,
      }
    case 'decision.update':
      return {
        kind: change.kind,
        columns: decisionUpdate(change.decision, change.expected_version),
        postings: change.decision.postings,
        erasesRequest: change.erases_request === true,
      }
    default:
      return change
  }
}

function decisionText(change: Change): string {
  return 'decision' in change ? JSON.stringify(change.decision) : ''
}

function contextText(change: Change): string {
  const context = 'request' in change ? change.request.context : null
  return context === null ? '' : JSON.stringify(context)
}
