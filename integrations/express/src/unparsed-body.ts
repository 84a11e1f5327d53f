/** A JSON body that nobody has parsed is not an absent one: what maps it to a question has none. */
import type { Request } from 'express'
import { shownInstead } from './shown-instead.js'

const mapping = new WeakSet<Request>()

/** Thrown where a mapping reads a body that was not parsed. Its code is that of the operator's warning. */
class UnparsedBody extends TypeError {
  readonly code = 'COUNTERSIGN_NO_BODY_PARSER'

  constructor() {
    super('req.body is undefined, although the request has a JSON body: put app.use(express.json()) before the route')
  }
}

/** Any caller can send such a type to a sound app: no warning is made of it. */
class UnparsedKindOfJson extends Error {
  override readonly name = 'UnparsedKindOfJson'

  constructor() {
    super(
      "req.body is undefined: the body is of a type that ends in +json, which express.json() leaves alone. To take it, use express.json({ type: ['json', '+json'] })",
    )
  }
}

/**
 * Runs what maps the request.
 *
 * @throws UnparsedBody or UnparsedKindOfJson when it reads a JSON body that was not parsed, and whatever it throws
 */
export function whileMapping<Value>(req: Request, map: () => Value): Value {
  if (req.body !== undefined) return map()
  mapping.add(req)
  const get = (): undefined => assertParsed(req)
  try {
    // A body that is held has an accessor which asks the same.
    return shownInstead(req, 'body', { get }, map)
  } finally {
    mapping.delete(req)
  }
}

/** To be called where a body that is undefined is read. @throws while a mapping reads it, if it was not parsed */
export function assertParsed(req: Request): undefined {
  if (!mapping.has(req)) return
  if (req.is('json')) throw new UnparsedBody()
  if (req.is('+json')) throw new UnparsedKindOfJson()
}
