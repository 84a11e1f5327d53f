import type { FieldError, PolicyDocument } from '@countersign/contract'
import { invalid } from '../../domain-error.js'

/**
 * Members that the contract knows and this server does not enforce yet.
 * Refused, because ignoring a limit would widen the policy. `at` points to the document.
 */
export function unsupportedMembers(document: PolicyDocument, at = ''): FieldError[] {
  if (document.budget === undefined) return []
  return [
    { pointer: `${at}/budget`, detail: 'is not supported by this version of the server; nothing would hold the limit' },
  ]
}

/** @throws DomainError validation_failed */
export function assertSupported(document: PolicyDocument): void {
  const errors = unsupportedMembers(document)
  if (errors.length > 0) throw invalid(errors)
}
