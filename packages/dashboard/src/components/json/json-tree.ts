/** Finds places in a JSON text. An incomplete text has a tree too. */
import { jsonLanguage } from '@codemirror/lang-json'
import type { SyntaxNode } from '@lezer/common'

/** The keys and indexes that lead from the outermost value to a place. */
export type JsonPath = readonly (string | number)[]

export interface TextRange {
  readonly from: number
  readonly to: number
}

const VALUES = new Set(['Object', 'Array', 'String', 'Number', 'True', 'False', 'Null'])

/** Cached, because callers look up many places of the same text. */
let latest: { readonly text: string; readonly root: SyntaxNode | null } | null = null

/** Returns the outermost value; null for a text without one. */
export function rootOf(text: string): SyntaxNode | null {
  if (latest?.text !== text) latest = { text, root: valuesIn(jsonLanguage.parser.parse(text).topNode)[0] ?? null }
  return latest.root
}

export function valuesIn(node: SyntaxNode): SyntaxNode[] {
  return childrenOf(node).filter(({ name }) => VALUES.has(name))
}

export function propertiesIn(node: SyntaxNode): SyntaxNode[] {
  return childrenOf(node).filter(({ name }) => name === 'Property')
}

export function valueIn(property: SyntaxNode): SyntaxNode | null {
  return valuesIn(property)[0] ?? null
}

/** Returns the key of a member, without quotes and escapes. */
export function keyOf(text: string, property: SyntaxNode): string {
  const name = property.getChild('PropertyName')
  return name === null ? '' : stringAt(text, name)
}

/** Returns the value of a string token; for an incomplete one, its text. */
function stringAt(text: string, { from, to }: TextRange): string {
  const token = text.slice(from, to)
  try {
    return String(JSON.parse(token))
  } catch {
    return token.replaceAll('"', '')
  }
}

export function propertyNamed(text: string, object: SyntaxNode, key: string): SyntaxNode | null {
  return propertiesIn(object).find((property) => keyOf(text, property) === key) ?? null
}

/** Returns the value at a path; null when there is none. */
export function nodeAt(text: string, path: JsonPath): SyntaxNode | null {
  let node = rootOf(text)
  for (const step of path) {
    if (node === null) return null
    node = childAt(text, node, step)
  }
  return node
}

function childAt(text: string, node: SyntaxNode, step: string | number): SyntaxNode | null {
  if (node.name === 'Array') return valuesIn(node)[Number(step)] ?? null
  if (node.name !== 'Object') return null
  const property = propertyNamed(text, node, String(step))
  return property && valueIn(property)
}

/** Returns the path of a node. A key, and a member without a value, have the path of the surrounding value. */
export function pathOf(text: string, node: SyntaxNode): JsonPath {
  const path: (string | number)[] = []
  for (let at: SyntaxNode | null = node; at !== null; at = at.parent) {
    const above = at.parent
    if (at.name === 'Property') path.unshift(keyOf(text, at))
    else if (above?.name === 'Array' && VALUES.has(at.name)) {
      const { from } = at
      path.unshift(valuesIn(above).findIndex((item) => item.from === from))
    }
  }
  return path
}

/** Returns the steps of a JSON pointer (RFC 6901). */
export function stepsOf(pointer: string): string[] {
  if (pointer === '') return []
  return pointer
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/**
 * Returns the token to underline for a JSON pointer: a plain value, or the key of a list or an object. For a missing place,
 * that is the nearest token around it.
 *
 * @param about whether the problem is about the key or about its value
 */
export function rangeOfPointer(text: string, pointer: string, about: 'key' | 'value'): TextRange {
  const root = rootOf(text)
  if (root === null) return { from: 0, to: text.length }
  let node = root
  let property: SyntaxNode | null = null
  let isMissing = false
  for (const step of stepsOf(pointer)) {
    const inner: SyntaxNode | null = node.name === 'Object' ? propertyNamed(text, node, step) : null
    const next: SyntaxNode | null = inner === null ? childAt(text, node, step) : valueIn(inner)
    if (next === null) {
      isMissing = true
      if (inner !== null) property = inner
      break
    }
    property = inner
    node = next
  }
  const key = property?.getChild('PropertyName') ?? null
  const isPlain = node.name !== 'Object' && node.name !== 'Array'
  if (key !== null && (isMissing || about === 'key' || !isPlain)) return { from: key.from, to: key.to }
  return firstLineOf(text, node)
}

/** Returns the range of the whole value at a JSON pointer; the whole text when there is none. */
export function rangeOfValue(text: string, pointer: string): TextRange {
  const { from, to } = nodeAt(text, stepsOf(pointer)) ?? { from: 0, to: text.length }
  return { from, to }
}

function firstLineOf(text: string, { from, to }: TextRange): TextRange {
  const end = text.indexOf('\n', from)
  return { from, to: end === -1 || end > to ? to : end }
}

function childrenOf(node: SyntaxNode): SyntaxNode[] {
  const children: SyntaxNode[] = []
  for (let child = node.firstChild; child !== null; child = child.nextSibling) children.push(child)
  return children
}
