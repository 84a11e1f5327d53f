/** What a mapping sees of a request, in the place of what is there. */
import type { Request } from 'express'

/** Runs `read`. Within it, the property is as described, unless it is defined for good. */
export function shownInstead<Value>(
  req: Request,
  name: 'body' | 'params',
  shown: PropertyDescriptor,
  read: () => Value,
): Value {
  const present = Object.getOwnPropertyDescriptor(req, name)
  const isShown =
    present?.configurable !== false &&
    Reflect.defineProperty(req, name, { ...shown, configurable: true, enumerable: true })
  try {
    return read()
  } finally {
    if (isShown && present !== undefined) Object.defineProperty(req, name, present)
    else if (isShown) Reflect.deleteProperty(req, name)
  }
}
