/**
 * Shared by every installed copy of this package through the global symbol registry: an error thrown by one copy is
 * recognised by another, where `instanceof` would fail.
 */
const BRAND = Symbol.for('countersign.error')

/** The family of a branded error, or undefined for anything else. */
export function errorFamily(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? (value as { [BRAND]?: unknown })[BRAND] : undefined
}

/**
 * What every error of this SDK is, apart from programmer mistakes, which are plain `TypeError`s.
 *
 * No message, field or cause holds an API key, a permit or a part of an answer's body.
 */
export abstract class CountersignError extends Error {
  protected constructor(family: string, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = family
    Object.defineProperty(this, BRAND, { value: family })
  }

  /** True for any error of this SDK, whichever installed copy threw it. */
  static isInstance(value: unknown): value is CountersignError {
    return errorFamily(value) !== undefined
  }
}
