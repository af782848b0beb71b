topic block
title A block signals a source: performed in the same pass
observer O before-sources
block B
source0 S
on B: signal S
add O default; add S default; perform B default
run default 0.03 no
--- golden
run default
observer O before-sources mode=default
block B mode=default
source0 S mode=default
observer O before-sources mode=default
ran default TIMEDOUT
end
