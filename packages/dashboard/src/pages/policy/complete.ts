/** Completes a policy in the editor, from the schema of the API. */
import type { Completion, CompletionContext, CompletionResult, CompletionSource } from '@codemirror/autocomplete'
import { startCompletion } from '@codemirror/autocomplete'
import type { EditorView } from '@codemirror/view'
import type { SyntaxNode } from '@lezer/common'
import type { OpenApiDocument } from '../../api/openapi'
import { type JsonPath, keyOf, pathOf, propertiesIn, rootOf, type TextRange } from '../../components/json/json-tree'
import { namesIn, type Suggestion, schemasAt, valuesOf } from './schema'

/** What belongs at an offset: a name in the object at `path`, or the value at `path`. */
export interface Place {
  readonly kind: 'name' | 'value'
  readonly path: JsonPath
  /** The token at the offset, with its quotes; empty between tokens. */
  readonly token: TextRange
  /** The names that the object already has. */
  readonly taken: readonly string[]
}

/** Stands for every item, because all items of a list have the same schema. */
const ANY_ITEM = 0

const TOKENS = new Set(['PropertyName', 'String', 'Number', 'True', 'False', 'Null'])

/** Returns null where nothing can be suggested: after a complete value. */
export function placeAt(text: string, offset: number): Place | null {
  const root = rootOf(text)
  if (root === null) return null
  const inner = innermostAt(root, offset)
  const isInToken = TOKENS.has(inner.name) && inner.from < offset && (offset < inner.to || isOpen(text, inner))
  const token = isInToken ? inner : wordBefore(text, offset)
  const before = text.slice(0, token.from).trimEnd()
  const around = containerOf(isInToken ? (inner.parent as SyntaxNode) : inner)
  if (around === null) return null
  const last = before.at(-1)
  if (last === ':' || around.name === 'Array') {
    if (last !== ':' && last !== '[' && last !== ',') return null
    return {
      kind: 'value',
      path: last === ':' ? memberPath(text, around, token.from) : [...pathOf(text, around), ANY_ITEM],
      token,
      taken: [],
    }
  }
  if (last !== '{' && last !== ',') return null
  const others = propertiesIn(around).filter(({ from }) => from !== token.from)
  return { kind: 'name', path: pathOf(text, around), token, taken: others.map((property) => keyOf(text, property)) }
}

/** Returns the suggestions for a place. `known` are the paths of facts in use. */
export function suggestionsAt(document: OpenApiDocument, place: Place, known: readonly string[]): Suggestion[] {
  const schemas = schemasAt(document, place.path)
  if (place.kind === 'value') return valuesOf(schemas, known)
  return namesIn(document, schemas, known).filter(({ text }) => !place.taken.includes(text))
}

/** Returns the paths of facts that a text names. */
export function pathsIn(text: string): string[] {
  return [...new Set([...text.matchAll(/"((?:context|agent)\.[^"\\\s]+)"/g)].map(([, path]) => path as string))]
}

/** @param documentOf returns the OpenAPI document once it is loaded */
export function policyCompletion(
  documentOf: () => OpenApiDocument | undefined,
  knownPaths: () => readonly string[],
): CompletionSource {
  return ({ state, pos, explicit }: CompletionContext): CompletionResult | null => {
    const document = documentOf()
    const text = state.doc.toString()
    const place = document === undefined ? null : placeAt(text, pos)
    if (document === undefined || place === null) return null
    const isQuoted = text[place.token.from] === '"' && place.token.from < pos
    if (!explicit && place.token.from === place.token.to) return null
    const known = [...pathsIn(text).filter((path) => path !== tokenText(text, place)), ...knownPaths()]
    const options = suggestionsAt(document, place, known).map((suggestion) => optionOf(suggestion, place))
    return {
      from: isQuoted ? place.token.from + 1 : place.token.from,
      options,
      validFor: /^[\w$.*-]*$/,
    }
  }
}

function optionOf({ text, detail, info, starter = '' }: Suggestion, { kind }: Place): Completion {
  return {
    label: kind === 'value' && text.startsWith('"') ? (JSON.parse(text) as string) : text,
    detail,
    type: kind === 'name' ? 'property' : 'constant',
    ...(info !== undefined && { info }),
    apply: (view) => (kind === 'name' ? writeName(view, text, starter) : write(view, text, text.length)),
  }
}

/** Writes a name, its colon, and the start of its value, unless a colon follows already. */
function writeName(view: EditorView, name: string, starter: string): void {
  const text = view.state.doc.toString()
  const place = placeAt(text, view.state.selection.main.head)
  const hasColon = place !== null && /^\s*:/.test(text.slice(place.token.to))
  const quoted = JSON.stringify(name)
  const start = hasColon ? quoted : `${quoted}: `
  const value = hasColon ? '' : starter
  write(view, start + value, start.length + (value === '' ? 0 : 1))
  if (!hasColon) startCompletion(view)
}

/** Replaces the token at the cursor. */
function write(view: EditorView, insert: string, cursor: number): void {
  const { head } = view.state.selection.main
  const { from, to } = placeAt(view.state.doc.toString(), head)?.token ?? { from: head, to: head }
  view.dispatch({ changes: { from, to, insert }, selection: { anchor: from + cursor }, userEvent: 'input.complete' })
}

/** Returns the range of the unquoted word before the offset; empty for none. */
function wordBefore(text: string, offset: number): TextRange {
  const [word = ''] = /[\w$.]*$/.exec(text.slice(0, offset)) ?? []
  return { from: offset - word.length, to: offset }
}

function tokenText(text: string, { token }: Place): string {
  return text.slice(token.from, token.to).replaceAll('"', '')
}

function innermostAt(root: SyntaxNode, offset: number): SyntaxNode {
  let top = root
  while (top.parent !== null) top = top.parent
  return top.resolveInner(offset, -1)
}

/** Whether typing continues the token: a number, or a text without its closing quote. */
function isOpen(text: string, { name, from, to }: SyntaxNode): boolean {
  if (name !== 'String' && name !== 'PropertyName') return true
  return to - from < 2 || text[to - 1] !== '"'
}

function containerOf(node: SyntaxNode): SyntaxNode | null {
  for (let at: SyntaxNode | null = node; at !== null; at = at.parent)
    if (at.name === 'Object' || at.name === 'Array') return at
  return null
}

/** Returns the path of the member whose value belongs at an offset. */
function memberPath(text: string, object: SyntaxNode, offset: number): JsonPath {
  const property = propertiesIn(object).findLast(({ from }) => from < offset)
  return property === undefined ? pathOf(text, object) : pathOf(text, property)
}
