import type { Profile } from '../../domain/users/profile.ts';

/** Leaves out what the user does not have: Protobuf knows no null. */
export function toProfile({ email, name, profileImage, walletAddress }: Profile) {
  return { email, walletAddress, ...(name !== null && { name }), ...(profileImage !== null && { profileImage }) };
}
