/** Where the developer wrote what failed: warnings are said once per place, so that a caller's bad call at one hides no other. */
const places = new WeakMap<object, string>()

/**
 * Says where an error comes from, or a question. For integrations.
 *
 * @param place such as `POST /refunds/:id resource`; never anything that a caller chooses
 */
export function noteFaultPlace(subject: unknown, place: string): void {
  if (typeof subject === 'object' && subject !== null) places.set(subject, place)
}

export function faultPlaceOf(subject: unknown): string | undefined {
  return typeof subject === 'object' && subject !== null ? places.get(subject) : undefined
}
