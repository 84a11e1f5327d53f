/**
 * Chance for the demo. It needs no secret, and another run may differ.
 *
 * @typedef {{ [name: string]: string | number | boolean | null | JsonObject }} JsonObject
 * @typedef {typeof random} Random
 */

export const random = {
  /**
   * @template T
   * @param {readonly T[]} values
   * @returns {T}
   */
  one: (values) => /** @type {T} */ (values[Math.floor(Math.random() * values.length)]),
  /**
   * @param {number} from
   * @param {number} to
   */
  number: (from, to) => Math.floor(from + Math.random() * (to + 1 - from)),
  /**
   * Money, to the cent.
   * @param {number} from
   * @param {number} to
   */
  amount: (from, to) => Math.round(100 * (from + Math.random() * (to - from))) / 100,
  /**
   * @template T
   * @param {readonly (readonly [weight: number, value: T])[]} weighted
   * @returns {T}
   */
  weighted(weighted) {
    let left = Math.random() * weighted.reduce((sum, [weight]) => sum + weight, 0)
    const found = weighted.find(([weight]) => {
      left -= weight
      return left < 0
    })
    return /** @type {readonly [number, T]} */ (found ?? weighted[0])[1]
  },
}
