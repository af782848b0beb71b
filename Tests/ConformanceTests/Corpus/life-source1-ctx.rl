topic life
title Context of a port source
source1 P ctx
add P default
invalidate P
note invalidated
drop P
--- golden
retain P
note invalidated
release P
end
