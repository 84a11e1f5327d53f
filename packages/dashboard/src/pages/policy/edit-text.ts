/**
 * Changes one place in a JSON text. Everything else stays as written: its order, spaces and numbers. A change at a missing
 * place has no effect.
 */
import type { SyntaxNode } from '@lezer/common'
import {
  type JsonPath,
  keyOf,
  nodeAt,
  propertiesIn,
  propertyNamed,
  type TextRange,
  valueIn,
  valuesIn,
} from '../../components/json/json-tree'
import { prettyJson } from '../../components/json/pretty-json'

/** The members of a policy, a rule and a budget, in their usual order. */
const ORDER = [
  ...['id', 'name', 'description', 'priority', 'enabled', 'mode', 'agents', 'rules', 'budget'],
  ...['action', 'resource', 'effect', 'conditions', 'reason', 'on_unknown'],
  ...['limit', 'unit', 'period', 'actions', 'amount', 'currency', 'scope', 'on_exceed'],
]

/** Sets a member of the object at `path`. A value of undefined removes it. */
export function setMember(text: string, path: JsonPath, key: string, value: unknown): string {
  const object = nodeAt(text, path)
  if (object?.name !== 'Object') return text
  const members = propertiesIn(object)
  const present = propertyNamed(text, object, key)
  const held = present && valueIn(present)
  if (present !== null && value === undefined) {
    const index = members.findIndex(({ from }) => from === present.from)
    return removeChild(text, object, members, index)
  }
  if (value === undefined) return text
  if (held !== null) return splice(text, held, prettyJson(value, indentAt(text, held.from)))
  const rank = ORDER.indexOf(key)
  const isBefore = (member: SyntaxNode) => {
    const other = ORDER.indexOf(keyOf(text, member))
    return rank === -1 || (other !== -1 && other < rank)
  }
  const before = members.findLastIndex(isBefore)
  return insertChild(
    text,
    object,
    members,
    before + 1,
    (indent) => `${JSON.stringify(key)}: ${prettyJson(value, indent)}`,
  )
}

/** Inserts an item into the array at `path`, before the item with this index. */
export function insertItem(text: string, path: JsonPath, index: number, value: unknown): string {
  const array = nodeAt(text, path)
  if (array?.name !== 'Array') return text
  return insertChild(text, array, valuesIn(array), index, (indent) => prettyJson(value, indent))
}

export function removeItem(text: string, path: JsonPath, index: number): string {
  const array = nodeAt(text, path)
  return array?.name === 'Array' ? removeChild(text, array, valuesIn(array), index) : text
}

/** Swaps the items at two indexes. */
export function swapItems(text: string, path: JsonPath, one: number, other: number): string {
  const array = nodeAt(text, path)
  if (array?.name !== 'Array') return text
  const items = valuesIn(array)
  const first = items[Math.min(one, other)]
  const second = items[Math.max(one, other)]
  if (first === undefined || second === undefined) return text
  const between = text.slice(first.to, second.from)
  const swapped = text.slice(second.from, second.to) + between + text.slice(first.from, first.to)
  return splice(text, { from: first.from, to: second.to }, swapped)
}

function insertChild(
  text: string,
  container: SyntaxNode,
  children: readonly SyntaxNode[],
  index: number,
  write: (indent: string) => string,
): string {
  const first = children[0]
  if (first === undefined) {
    const outer = indentAt(text, container.from)
    const isOpen = text.slice(container.from, container.to).includes('\n')
    const child = write(isOpen ? `${outer}  ` : outer)
    return splice(text, inside(container), isOpen ? `\n${outer}  ${child}\n${outer}` : child)
  }
  const isOpen = text.slice(container.from, first.from).includes('\n')
  const indent = indentAt(text, first.from)
  const child = write(indent)
  const separator = isOpen ? `,\n${indent}` : ', '
  const next = children[index]
  if (next !== undefined) return splice(text, { from: next.from, to: next.from }, child + separator)
  const { to } = children.at(-1) as SyntaxNode
  return splice(text, { from: to, to }, separator + child)
}

function removeChild(text: string, container: SyntaxNode, children: readonly SyntaxNode[], index: number): string {
  const child = children[index]
  if (child === undefined) return text
  const next = children[index + 1]
  const before = children[index - 1]
  if (next !== undefined) return splice(text, { from: child.from, to: next.from }, '')
  if (before !== undefined) return splice(text, { from: before.to, to: child.to }, '')
  return splice(text, inside(container), '')
}

/** The range between the brackets. */
function inside({ from, to }: TextRange): TextRange {
  return { from: from + 1, to: to - 1 }
}

/** Returns the indentation of the line at an offset. */
function indentAt(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset)
  return line.slice(0, line.length - line.trimStart().length)
}

function splice(text: string, { from, to }: TextRange, insert: string): string {
  return text.slice(0, from) + insert + text.slice(to)
}
