/** The members of a store role: functions that take a place (a connection, a database), bound to that place. */
export type Bound<Functions> = {
  readonly [Name in keyof Functions]: Functions[Name] extends (
    place: never,
    ...parameters: infer Parameters
  ) => infer Result
    ? (...parameters: Parameters) => Promise<Awaited<Result>>
    : never
}

type FunctionOf<Place> = (place: Place, ...parameters: never[]) => unknown
export type FunctionsOf<Place> = Readonly<Record<string, FunctionOf<Place>>>

/** @param bind binds a function to its place */
export function bound<Place, Functions extends FunctionsOf<Place>>(
  functions: Functions,
  bind: (work: FunctionOf<Place>) => (...parameters: never[]) => unknown,
): Bound<Functions> {
  return Object.fromEntries(Object.entries(functions).map(([name, work]) => [name, bind(work)])) as Bound<Functions>
}
