/**
 * All installed copies of this package share this through the global symbol registry: one copy recognizes an error of
 * another, where `instanceof` would fail.
 */
const BRAND = Symbol.for('countersign.error')

/** Returns the family of a branded error; undefined for anything else. */
export function errorFamily(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? (value as { [BRAND]?: unknown })[BRAND] : undefined
}

/**
 * The base of all errors of this SDK, except programmer mistakes, which are plain `TypeError`s.
 *
 * No message, field or cause contains an API key, a permit or a part of an answer's body.
 */
export abstract class CountersignError extends Error {
  protected constructor(family: string, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.name = family
    Object.defineProperty(this, BRAND, { value: family })
  }

  /** True for any error of this SDK, whichever installed copy threw it. */
  static isInstance(value: unknown): value is CountersignError {
    return errorFamily(value) !== undefined
  }
}
