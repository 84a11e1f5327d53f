/** Replaces a property of a request while a mapping reads it. */
import type { Request } from 'express'

/** Runs `read`. Within it, the property is as described, unless it cannot be redefined. */
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
