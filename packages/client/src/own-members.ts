/**
 * The members that an object has itself. Read from this, one that is absent is absent: nothing that was put on
 * `Object.prototype` stands in for it.
 */
export function ownMembers<Given extends object>(given: Given): Given {
  return Object.assign(Object.create(null), given)
}
