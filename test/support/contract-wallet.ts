/** Contract wallets in EVM code: one key owns each, and the contract judges its signatures (EIP-1271). */
import { randomBytes } from 'node:crypto';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { Wallet } from './wallet.ts';

const OPCODES = {
  MUL: '02',
  SUB: '03',
  EQ: '14',
  BYTE: '1a',
  SHL: '1b',
  CALLDATALOAD: '35',
  CALLDATASIZE: '36',
  CALLDATACOPY: '37',
  POP: '50',
  MLOAD: '51',
  MSTORE: '52',
  GAS: '5a',
  DUP1: '80',
  SWAP1: '90',
  RETURN: 'f3',
  CREATE2: 'f5',
  STATICCALL: 'fa',
  REVERT: 'fd',
};

const MAGIC = '1626ba7e';
/** Ends a signature of a wallet that is not deployed yet (EIP-6492). */
const UNDEPLOYED = '6492'.repeat(16);

/** Code that answers everything with a revert. */
export const REVERTING_CODE = assemble('00 00 REVERT');

/** Creates contracts: the call has 32 bytes of salt, and the code that returns the code. */
export const FACTORY_CODE = assemble(`
  20 CALLDATASIZE SUB DUP1 20 00 CALLDATACOPY
  00 CALLDATALOAD SWAP1 00 00 CREATE2
  00 MSTORE 20 00 RETURN`);

/** Returns code that accepts what the key with the address has signed, whatever bytes follow. */
export function ownedBy(address: string): string {
  return assemble(`
    04 CALLDATALOAD 00 MSTORE
    a4 CALLDATALOAD 00 BYTE 20 MSTORE
    64 CALLDATALOAD 40 MSTORE
    84 CALLDATALOAD 60 MSTORE
    20 80 80 00 01 GAS STATICCALL POP
    80 MLOAD ${address.slice(2)} EQ ${MAGIC} MUL e0 SHL
    00 MSTORE 20 00 RETURN`);
}

export class ContractWallet {
  readonly owner = new Wallet();
  readonly code = ownedBy(this.owner.address);
  readonly #salt = randomBytes(32).toString('hex');
  readonly #factory: string;

  /** @param factory the address of `FACTORY_CODE` */
  constructor(factory: string) {
    this.#factory = factory;
  }

  /** Where the factory deploys it (EIP-1014), in lower case. */
  get address(): string {
    const seed = `ff${this.#factory.slice(2)}${this.#salt}${keccak(this.#creation)}`;
    return `0x${keccak(seed).slice(-40)}`;
  }

  sign(text: string): string {
    return this.owner.sign(text);
  }

  /** Signs before the wallet is deployed (EIP-6492). */
  signUndeployed(text: string): string {
    return wrapSignature(this.#factory, `0x${this.#salt}${this.#creation}`, this.sign(text));
  }

  /** The code that returns the code. */
  get #creation(): string {
    const code = this.code.slice(2);
    const size = (code.length / 2).toString(16).padStart(4, '0');
    return `61${size}80600c6000396000f3${code}`;
  }
}

/** Returns `abi.encode(address, bytes, bytes)` and the bytes that mark it (EIP-6492). */
export function wrapSignature(factory: string, call: string, signature: string): string {
  const callBytes = encodeBytes(call);
  const offset = 96 + callBytes.length / 2;
  return `0x${pad(factory.slice(2))}${word(96)}${word(offset)}${callBytes}${encodeBytes(signature)}${UNDEPLOYED}`;
}

function encodeBytes(hex: string): string {
  const digits = hex.slice(2);
  return word(digits.length / 2) + digits.padEnd(Math.ceil(digits.length / 64) * 64, '0');
}

function word(number: number): string {
  return pad(number.toString(16));
}

function pad(digits: string): string {
  return digits.padStart(64, '0');
}

function keccak(hex: string): string {
  return Buffer.from(keccak_256(Buffer.from(hex, 'hex'))).toString('hex');
}

/** Returns the bytes of a program. Hex digits in lower case are pushed. */
function assemble(program: string): string {
  const bytes = program
    .trim()
    .split(/\s+/)
    .map((word) => {
      if (word in OPCODES) return OPCODES[word as keyof typeof OPCODES];
      return (0x5f + word.length / 2).toString(16) + word;
    });
  return `0x${bytes.join('')}`;
}
