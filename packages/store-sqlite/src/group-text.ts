/**
 * How a group of mutations gets to the writing thread: as one text. Its first line is what the thread looks at, the columns
 * of each row among it. Each further line is a document, made once and stored as it is; JSON text has no line break.
 */
import type { Posting } from '@countersign/store-port/documents'
import type { Change, Mutation } from '@countersign/store-port/store'
import { type AuditEntryColumns, auditEntryColumns } from './tables/audit-entries.js'
import { type DecisionColumns, type DecisionUpdate, decisionColumns, decisionUpdate } from './tables/decisions.js'
import { type IdempotencyColumns, idempotencyColumns } from './tables/idempotency.js'

type DecisionChange = Extract<Change, { readonly kind: 'decision.create' | 'decision.update' }>

/** Rare changes are there whole. */
type ChangeHead =
  | { readonly kind: 'decision.create'; readonly columns: DecisionColumns; readonly postings: readonly Posting[] }
  | {
      readonly kind: 'decision.update'
      readonly columns: DecisionUpdate
      readonly postings: readonly Posting[]
      readonly erasesRequest: boolean
    }
  | Exclude<Change, DecisionChange>

interface MutationHead {
  readonly change: ChangeHead
  readonly entry: AuditEntryColumns | null
  readonly idempotency: IdempotencyColumns | null
}

/** A mutation as the thread writes it. */
export interface WritableMutation extends MutationHead {
  /** Of the audit entry; empty when there is none. */
  readonly entryText: string
  /** Of the decision; empty when the change is of something else. */
  readonly decisionText: string
  /** Of the context of a new decision's request; empty when there is none. */
  readonly contextText: string
}

export function groupText(mutations: readonly Mutation[]): string {
  const heads: MutationHead[] = []
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

/** What {@link groupText} was made of. */
export function mutationsOf(text: string): readonly WritableMutation[] {
  const lines = text.split('\n')
  const heads = JSON.parse(lines[0] as string) as readonly MutationHead[]
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
