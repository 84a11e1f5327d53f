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

/** An object of any JSON, as answers hold it. */
export function jsonObject(description: string) {
  return z.custom<JsonObject>(isJsonObject).meta({ type: 'object', additionalProperties: true, description })
}
