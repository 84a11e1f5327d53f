import { z } from 'zod'

/** Any JSON value, read-only. */
export type Json = string | number | boolean | null | JsonArray | JsonObject
/** A list of JSON values. */
export type JsonArray = readonly Json[]
/** An object of JSON values. */
export type JsonObject = { readonly [key: string]: Json }

/** Whether a JSON value is an object: neither null nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * JSON Schema for the values of an open object. With `true` instead, some client generators look for the name of a
 * schema.
 */
export const ANY_JSON = { description: 'Any JSON value.' }

/** An object of any JSON, for answers. */
export function jsonObject(description: string) {
  return z.custom<JsonObject>(isJsonObject).meta({ type: 'object', additionalProperties: ANY_JSON, description })
}
