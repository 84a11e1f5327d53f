/** Compares a running server's tools with the mapped and accepted ones. */
import { printable } from '@countersign/client/text'
import { canonicalOf, DEFINING_MEMBERS, definitionHash, definitionOf } from '../../lists/tool-definitions.js'
import { toolName } from '../../lists/tool-pages.js'
import type { ProxyConfig } from '../config.js'
import type { ShownTools } from './shown-tools.js'

/** `unpinned` and `unmapped` are reported, but are not differences: the tool is unchanged, or there is nothing to compare it with. */
export type DifferenceKind = 'changed' | 'gone' | 'new' | 'unsound' | 'unpinned' | 'unmapped'

export interface Difference {
  readonly tool: string
  readonly kind: DifferenceKind
  /** Details for the report, one line each, in printable form. */
  readonly details: readonly string[]
}

/** The length of an excerpt of the server's text, in characters. */
const MAX_EXCERPT = 100
/** How much of the excerpt precedes the change. */
const BEFORE = 20

/**
 * The differences of all tools that are mapped, shown or accepted.
 *
 * @param accepted the accepted tools; null if they were not stored
 */
export function toolDifferences(
  { sound, unsound }: ShownTools,
  { tools }: ProxyConfig,
  accepted: readonly unknown[] | null,
): Difference[] {
  const mapped = new Map(Object.entries(tools))
  const known = new Map((accepted ?? []).map((tool) => [toolName(tool) ?? '', tool]))
  const names = new Set([...mapped.keys(), ...known.keys(), ...sound.keys(), ...unsound.keys()])
  const differences = [...names].map((tool): Difference | undefined => {
    const differs = (kind: DifferenceKind, ...details: readonly string[]) => ({ tool, kind, details })
    const fault = unsound.get(tool)
    if (fault !== undefined) return differs('unsound', fault)
    const shown = sound.get(tool)
    if (shown === undefined) return differs('gone')
    const before = known.get(tool)
    const hashBefore = before && definitionHash(before)
    const pinned = mapped.get(tool)?.definition ?? hashBefore
    if (pinned !== undefined && pinned !== shown.hash)
      return differs('changed', ...changes(hashBefore === pinned ? before : undefined, shown.tool))
    if (mapped.has(tool)) return mapped.get(tool)?.definition === undefined ? differs('unpinned') : undefined
    return before === undefined ? differs('new', ...changes({}, shown.tool)) : differs('unmapped')
  })
  return differences.filter((difference) => difference !== undefined)
}

/** The changed members, with an excerpt of each change. */
function changes(before: unknown, now: unknown): string[] {
  if (before === undefined) return ['the change cannot be shown: the accepted definition was not stored']
  const [old, shown] = [toolName(before) === undefined ? {} : definitionOf(before), definitionOf(now)]
  return DEFINING_MEMBERS.flatMap((member) => {
    const [was, is] = [textOf(old[member]), textOf(shown[member])]
    if (was === is || member === 'name') return []
    const from = Math.max(0, firstDifference(was, is) - BEFORE)
    return [`${member}: ${was === '' ? '' : `${excerpt(was, from)} -> `}${is === '' ? 'none' : excerpt(is, from)}`]
  })
}

/** Empty for an absent value. */
function textOf(value: unknown): string {
  return value === undefined ? '' : canonicalOf(value)
}

function firstDifference(one: string, other: string): number {
  let at = 0
  while (at < one.length && one[at] === other[at]) at += 1
  return at
}

function excerpt(text: string, from: number): string {
  return `${from > 0 ? '…' : ''}${printable(text.slice(from), MAX_EXCERPT)}`
}
