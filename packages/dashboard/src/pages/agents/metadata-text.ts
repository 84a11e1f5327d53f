import type { JsonObject } from '@countersign/contract'
import { visibleText } from '../../components/invisible'

/** Writes metadata as JSON for editing, with JSON escapes for invisible characters. */
export function metadataText(metadata: object): string {
  return JSON.stringify(metadata, null, 2).replace(/[^\n -~]/gu, (character) =>
    visibleText(character) === character ? character : escapesOf(character),
  )
}

/** @returns the object, or an error message */
export function readMetadata(text: string): JsonObject | string {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as JsonObject) : 'Enter a JSON object, such as {"team": "support"}.'
  } catch (error) {
    return `This is not JSON: ${(error as Error).message}.`
  }
}

function escapesOf(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}
