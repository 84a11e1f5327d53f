/**
 * Copies the own members of an object to one without a prototype, so that nothing on `Object.prototype` can replace an
 * absent member.
 */
export function ownMembers<Given extends object>(given: Given): Given {
  return Object.assign(Object.create(null), given)
}
