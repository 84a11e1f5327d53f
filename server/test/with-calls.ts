/**
 * The same object, with each call of it and of its roles made by `call`.
 *
 * @param call gets the name (`method` or `role.method`), what performs the call, and its parameters
 */
export function withCalls<T extends object>(
  sound: T,
  call: (name: string, perform: () => unknown, parameters: readonly unknown[]) => unknown,
  prefix = '',
): T {
  return new Proxy(sound, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      const path = prefix + String(name)
      if (typeof member === 'function')
        return (...parameters: unknown[]) => call(path, () => member.apply(target, parameters), parameters)
      return typeof member === 'object' && member !== null ? withCalls(member, call, `${path}.`) : member
    },
  })
}
