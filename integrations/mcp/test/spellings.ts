/** Numbers as programs in other languages write them. */

/** A double holds them, though JavaScript writes them otherwise. */
export const SAFE_SPELLINGS = [
  '1.0',
  '-1.50',
  '1E5',
  '1e+2',
  '100e-2',
  '-0',
  '0.0',
  '0e7',
  '1e-7',
  '0.0000001',
  '5e-324',
]

/** No double holds them. */
export const UNSAFE_NUMBERS = [
  '12345678901234567891',
  '9007199254740993',
  '9007199254740992',
  '-9007199254740995',
  '9007199254740993.0',
  '1e17',
  '1e400',
  '-1E400',
  '1e-400',
]

/** What a server may send in any place. */
export const ALL_SPELLINGS = [...SAFE_SPELLINGS, ...UNSAFE_NUMBERS, '3.14159265358979323846']
