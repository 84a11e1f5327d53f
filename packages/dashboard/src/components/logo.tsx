import icon from '../icon.svg'

/** The logo, shown beside the name. */
export function Logo() {
  return <img src={icon} width={24} height={24} alt="" />
}
