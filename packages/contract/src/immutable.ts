/** A type whose members, at any depth, can only be read. */
export type Immutable<Type> = Type extends readonly (infer Item)[]
  ? readonly Immutable<Item>[]
  : Type extends object
    ? { readonly [Member in keyof Type]: Immutable<Type[Member]> }
    : Type
