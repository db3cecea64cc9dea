package main

// The function minting returns a suite with tests of package mysqlock on MySQL and on MariaDB.
func minting(names ...string) []suite { return []suite{{"mysqlock", names}} }

// mints lists defects in the code that makes the tokens of package mysqlock.
var mints = []mutant{
	{"a token's number is taken before the lock", "tokens rise, S2",
		file("mysqlock/sql/acquire.sql", "IF(GET_LOCK(?, ?) = 1, UUID_SHORT() & 0x00FFFFFFFFFFFFFF, NULL)",
			"(SELECT IF(GET_LOCK(?, ?) = 1, n.number, NULL) FROM (SELECT UUID_SHORT() & 0x00FFFFFFFFFFFFFF AS number LIMIT 1) AS n)"),
		minting("TestATokenIsMadeUnderTheLock/mysql", "TestATokenIsMadeUnderTheLock/mariadb")},
	{"a run of the server is known by its second only", "tokens rise, S2",
		in("mysqlock", "mint.serves", "m.run == r.run && m.number <= r.number", "m.run == r.run"),
		minting("TestNextMint", "TestTokensRiseWhenTheClockIsSetBack/mysql", "TestTokensRiseWhenTheClockIsSetBack/mariadb")},
	{"a run of the server is known by its numbers only", "tokens rise, S2",
		in("mysqlock", "mint.serves", "m.run == r.run && m.number <= r.number", "m.number <= r.number"),
		minting("TestNextMint", "TestTokensRiseWhenTheClockIsSetBack/mysql", "TestTokensRiseWhenTheClockIsSetBack/mariadb")},
	{"another run begins above the first token, not above the reserved ones", "tokens rise, S2",
		in("mysqlock", "mint.next", "max(m.reserved+1, r.clock)", "max(m.token+1, r.clock)"),
		minting("TestNextMint", "TestTokensRiseWhenTheClockIsSetBack/mysql", "TestTokensRiseWhenTheClockIsSetBack/mariadb")},
	{"another run does not begin above the clock", "tokens rise, S2",
		in("mysqlock", "mint.next", "max(m.reserved+1, r.clock)", "m.reserved+1"),
		minting("TestNextMint", "TestTokensRiseAfterARestore/mysql", "TestTokensRiseAfterARestore/mariadb")},
	{"a session grants tokens that are not reserved", "tokens rise, S2",
		in("mysqlock", "mint.of", "token <= m.reserved", "true"),
		minting("TestNextMint", "TestReservedTokensRunOut/mysql", "TestReservedTokensRunOut/mariadb")},
}
