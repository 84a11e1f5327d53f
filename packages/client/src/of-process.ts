/**
 * Shares a value among all copies of this package in a process. An app may have several: two versions, or one that was
 * bundled. Each has its own classes, so only plain data and objects of the platform are shared, and a value of another
 * form has another name.
 *
 * No caller can name the value: it is found by a symbol, which JSON cannot contain.
 */
export function ofProcess<Value>(name: string, make: () => Value): Value {
  const key = Symbol.for(`countersign.${name}`)
  // Neither writable nor enumerable.
  if (!Object.hasOwn(globalThis, key)) Object.defineProperty(globalThis, key, { value: make() })
  return (globalThis as unknown as Readonly<Record<symbol, Value>>)[key] as Value
}
