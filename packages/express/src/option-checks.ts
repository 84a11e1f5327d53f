/** How the options of guards are read. */

/** What was given, and nothing that somebody else has put on Object.prototype. */
export function ownMembers<Options extends object>(options: Options): Options {
  return Object.assign(Object.create(null), options)
}

/** @throws TypeError */
export function checkOne(name: string, isRight: boolean, wanted: string): void {
  if (!isRight) throw new TypeError(`${name} has to be ${wanted}`)
}

/** @throws TypeError unless the option is a function or of one of these types */
export function checkFromRequest(name: string, given: unknown, types: readonly string[]): void {
  checkOne(
    name,
    typeof given === 'function' || types.includes(typeof given),
    `${types[0]} or a function of the request`,
  )
}

export function isFunctionOrNone(given: unknown): boolean {
  return given === undefined || typeof given === 'function'
}
