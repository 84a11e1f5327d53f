import type { NextFunction, Response } from 'express'
import { watchDefaultAnswer } from './default-answer.js'
import { RouteDeniedError } from './route-denied-error.js'

/** Gives a refusal to the error handlers of the app. */
export function refuse(res: Response, denial: unknown, next: NextFunction): void {
  if (RouteDeniedError.isInstance(denial)) watchDefaultAnswer(res, denial)
  next(denial)
}
