import type { Json } from '@countersign/contract'

export type JsonMembers = { readonly [key: string]: Json }

/** The props of each part of the form. */
export interface FormProps {
  readonly policy: JsonMembers
  /** Changes the text of the policy. */
  readonly edit: (change: (text: string) => string) => void
  readonly isReadOnly: boolean
}

export function isObject(value: Json | undefined): value is JsonMembers {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the text of a field. A draft may contain any JSON where a text belongs. */
export function textOf(value: Json | undefined): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
