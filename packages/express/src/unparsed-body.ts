/** A JSON body that nobody has parsed is not an absent one: what maps it to a question has none. */
import type { Request } from 'express'

const mapping = new WeakSet<Request>()

/** Thrown where a mapping reads a body that was not parsed. Its code is that of the operator's warning. */
class UnparsedBody extends TypeError {
  readonly code = 'COUNTERSIGN_NO_BODY_PARSER'

  constructor() {
    super('req.body is undefined, although the request has a JSON body: put app.use(express.json()) before the route')
  }
}

/**
 * Runs what maps the request.
 *
 * @throws TypeError when it reads a JSON body that was not parsed, and whatever it throws
 */
export function whileMapping<Value>(req: Request, map: () => Value): Value {
  mapping.add(req)
  try {
    return map()
  } catch (error) {
    mapping.delete(req)
    throw error instanceof TypeError && req.body === undefined && isJson(req) ? new UnparsedBody() : error
  } finally {
    mapping.delete(req)
  }
}

/** To be called where a body that is undefined is read. @throws TypeError while a mapping reads it, if it was not parsed */
export function assertParsed(req: Request): void {
  if (mapping.has(req) && isJson(req)) throw new UnparsedBody()
}

function isJson(req: Request): boolean {
  return typeof req.is(['json', '+json']) === 'string'
}
