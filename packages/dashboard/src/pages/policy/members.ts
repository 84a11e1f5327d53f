import type { Json } from '@countersign/contract'

export type JsonMembers = { readonly [key: string]: Json }

/** What each part of the form gets. */
export interface FormProps {
  readonly policy: JsonMembers
  /** Changes the text of the policy. */
  readonly edit: (change: (text: string) => string) => void
  readonly isReadOnly: boolean
}

export function isObject(value: Json | undefined): value is JsonMembers {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What a field shows of a member that should be a text: a draft may hold anything. */
export function textOf(value: Json | undefined): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
