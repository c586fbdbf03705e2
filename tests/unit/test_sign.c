/* SPDX-License-Identifier: GPL-2.0-or-later
 * test_sign.c - signatures against the vectors of RFC 4231 and those that the senders publish, and event bodies around them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "guest/sign.h"
#include "proto/sha256.h"
#include "tests/lib/tap.h"

static const char *
mac(const void *key, size_t key_len, const void *data, size_t len)
{
	static char hex[65];
	uint8_t out[32];

	hmac_sha256(key, key_len, data, len, out);
	sha256_hex(out, hex);
	return hex;
}

static void
test_hmac(void)
{
	uint8_t key[131], data[152];

	memset(key, 0x0b, 20);
	is_str(mac(key, 20, "Hi There", 8), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
	       "RFC 4231, case 1");
	is_str(mac("Jefe", 4, "what do ya want for nothing?", 28),
	       "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843", "case 2");
	memset(key, 0xaa, 131);
	memset(data, 0xdd, 50);
	is_str(mac(key, 20, data, 50), "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe", "case 3");
	is_str(mac(key, 131, "Test Using Larger Than Block-Size Key - Hash Key First", 54),
	       "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54", "case 6, a key longer than a block");
	is_str(mac("", 0, "", 0), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad", "nothing at all");
}

static const char *
sign(enum sign_scheme scheme, const char *secret, const char *id, uint64_t seconds, const char *body)
{
	static char text[SIGN_MAX];

	return sign_text(scheme, secret, id, seconds, body, strlen(body), text) < 0 ? "refused" : text;
}

static void
test_schemes(void)
{
	enum sign_scheme s;
	char old[SIGN_MAX];

	is_str(sign(SIGN_GITHUB, "It's a Secret to Everybody", "", 0, "Hello, World!"),
	       "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17", "GitHub's own example");
	sign_text_sha1("It's a Secret to Everybody", "Hello, World!", 13, old);
	is_str(old, "sha1=01dc10d0c83e72ed246219cdd91669667fe2ca59",
	       "the same in its older field, computed by node:crypto");
	is_str(sign(SIGN_SLACK, "8f742231b10e8888abcd99yyyzzz85a5", "", 1531420618,
		    "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&"
		    "channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url="
		    "https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id="
		    "398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"),
	       "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503", "Slack's own example");
	is_str(sign(SIGN_STANDARD, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330,
		    "{\"test\": 2432232314}"),
	       "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", "the example of Standard Webhooks");
	is_str(sign(SIGN_STANDARD, "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330,
		    "{\"test\": 2432232314}"),
	       "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", "without its prefix the secret is the same");
	is_str(sign(SIGN_STANDARD, "whsec_c2hvcnQ=", "m", 1, ""), "refused", "a secret that is too short");
	is_str(sign(SIGN_STANDARD, "whsec_!", "m", 1, ""), "refused", "a secret that is not base64");
	is_str(sign(SIGN_STRIPE, "whsec_abc", "", 1700000000, "{\"id\":\"evt_1\",\"n\":1}"),
	       "t=1700000000,v1=87c47640a3a024c8992b5c7eed19cc0347a38704b72c4156507acdea92bf19c8",
	       "Stripe, computed by node:crypto");
	ok(sign_scheme_of("standard-webhooks", &s) == 0 && s == SIGN_STANDARD, "a scheme by its name");
	is_int(sign_scheme_of("svix", &s), -EPROTO, "another is none");
}

int
main(void)
{
	test_hmac();
	test_schemes();
	return tap_done();
}
